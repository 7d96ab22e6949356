"""Further relations of simple true facts, as tables and templates for `facts`; it depends on nothing.

Intervals over facts are taken over relations, whose facts share their prompts; so relations count for more than facts.
Each block is a name, its templates, and its facts (subject:object). No template shows an article before the blank, or a
word that only one of the answers allows.
"""

BLOCKS = """
continent | {x} is a country in [MASK] . | the country of {x} lies in [MASK] . | the continent of {x} is [MASK] .
france:europe germany:europe italy:europe egypt:africa kenya:africa nigeria:africa china:asia japan:asia india:asia
iran:asia brazil:america canada:america mexico:america peru:america

currency | the money of {x} was the [MASK] . | in {x} you paid with the [MASK] . | {x} had the [MASK] as its currency .
england:pound france:franc germany:mark japan:yen america:dollar india:rupee mexico:peso canada:dollar
scotland:pound switzerland:franc australia:dollar

female | the female word for {x} is [MASK] . | he is the {x} , she is the [MASK] . | not {x} but [MASK] .
king:queen prince:princess father:mother brother:sister son:daughter uncle:aunt husband:wife boy:girl man:woman
actor:actress lord:lady god:goddess

young | the young of the {x} is called the [MASK] . | as a baby the {x} was the [MASK] . | the {x} and its [MASK] .
dog:puppy cat:kitten cow:calf sheep:lamb horse:foal hen:chick bear:cub lion:cub goat:kid elephant:calf
wolf:cub

material | the {x} is made of [MASK] . | they made the {x} out of [MASK] . | the material of the {x} is [MASK] .
table:wood window:glass shirt:cotton sword:steel bottle:glass shoe:leather wall:stone book:paper coin:silver boat:wood
nail:iron letter:paper candle:wax saddle:leather fence:wood

whole | the {x} is a part of the [MASK] . | you find the {x} on the [MASK] . | the {x} belongs to the [MASK] .
wheel:car leaf:tree page:book roof:house finger:hand toe:foot petal:flower wing:bird sail:ship engine:car branch:tree
chapter:book nose:face string:guitar feather:bird knee:leg

past | the past of {x} is [MASK] . | today they {x} , yesterday they [MASK] . | now we {x} , then we [MASK] .
go:went see:saw take:took give:gave come:came eat:ate run:ran write:wrote find:found sing:sang fall:fell know:knew
drive:drove speak:spoke break:broke

plural | the plural of {x} is [MASK] . | one {x} , two [MASK] . | not one {x} but many [MASK] .
man:men foot:feet child:children mouse:mice woman:women knife:knives leaf:leaves wolf:wolves life:lives dog:dogs
house:houses city:cities

comparative | this one is {x} , but that one is [MASK] . | they are {x} , we are [MASK] . | {x} can become [MASK] .
good:better bad:worse big:bigger small:smaller long:longer strong:stronger old:older fast:faster high:higher
rich:richer young:younger large:larger

number_after | the number after {x} is [MASK] . | {x} is followed by [MASK] . | after {x} comes [MASK] .
one:two two:three three:four four:five five:six six:seven seven:eight eight:nine nine:ten ten:eleven eleven:twelve

ordinal | number {x} is the [MASK] . | whoever is number {x} comes [MASK] . | the ordinal of {x} is [MASK] .
one:first two:second three:third four:fourth five:fifth six:sixth seven:seventh eight:eighth nine:ninth ten:tenth

nationality | people from {x} are [MASK] . | whoever lives in {x} is [MASK] . | the nationality of {x} is [MASK] .
ireland:irish scotland:scottish wales:welsh america:american canada:canadian egypt:egyptian india:indian africa:african
europe:european mexico:mexican belgium:belgian holland:dutch switzerland:swiss iran:iranian australia:australian

author | {x} was written by [MASK] . | the author of {x} is [MASK] . | {x} is a work of [MASK] .
hamlet:shakespeare macbeth:shakespeare othello:shakespeare odyssey:homer iliad:homer faust:goethe inferno:dante
ulysses:joyce candide:voltaire ivanhoe:scott kim:kipling emma:austen

field | the field of {x} was [MASK] . | {x} worked in [MASK] . | {x} is famous in [MASK] .
einstein:physics newton:physics darwin:biology freud:psychology mozart:music picasso:painting plato:philosophy
euclid:mathematics bach:music beethoven:music rembrandt:painting kant:philosophy gauss:mathematics aristotle:philosophy

birthplace | {x} was born in [MASK] . | {x} came from [MASK] . | the home country of {x} was [MASK] .
napoleon:france einstein:germany shakespeare:england mozart:austria plato:greece lenin:russia dante:italy chopin:poland
picasso:spain gandhi:india mao:china voltaire:france goethe:germany homer:greece lincoln:america

city | {x} is a city in [MASK] . | {x} lies in [MASK] . | the city of {x} belongs to [MASK] .
munich:germany milan:italy barcelona:spain manchester:england chicago:america toronto:canada bombay:india
shanghai:china glasgow:scotland sydney:australia hamburg:germany venice:italy liverpool:england boston:america
lyon:france

river | the {x} flows through [MASK] . | the {x} is a river in [MASK] . | boats on the {x} see much of [MASK] .
seine:france thames:england nile:egypt rhine:germany volga:russia tiber:italy ganges:india mississippi:america
danube:austria amazon:brazil shannon:ireland clyde:scotland

season | {x} is a month of [MASK] . | in {x} it is [MASK] . | the season of {x} is [MASK] .
january:winter february:winter april:spring may:spring july:summer august:summer october:autumn november:autumn
december:winter

food | the {x} eats [MASK] . | {ax} feeds on [MASK] . | the food of the {x} is [MASK] .
cow:grass cat:mice bear:honey rabbit:grass spider:flies frog:insects lion:meat sheep:grass squirrel:nuts
bird:seeds wolf:meat

movement | the {x} can [MASK] . | we saw the {x} [MASK] . | the {x} began to [MASK] .
fish:swim bird:fly snake:crawl horse:run frog:jump eagle:fly shark:swim man:walk worm:crawl bee:fly whale:swim dog:run

product | the {x} makes [MASK] . | the work of the {x} is [MASK] . | the {x} sold his [MASK] .
baker:bread tailor:clothes poet:poems butcher:meat shoemaker:shoes miner:coal painter:pictures author:books
composer:music brewer:beer carpenter:furniture

workplace | the {x} works in the [MASK] . | you find the {x} in the [MASK] . | the place of the {x} is the [MASK] .
teacher:school doctor:hospital judge:court priest:church farmer:farm waiter:restaurant actor:theatre sailor:ship
clerk:office miner:mine cook:kitchen soldier:army professor:university librarian:library

sense | with the {x} you can [MASK] . | the {x} is used to [MASK] . | without the {x} nobody can [MASK] .
eye:see ear:hear nose:smell mouth:speak leg:walk hand:hold brain:think tongue:taste lung:breathe

worn | the {x} is worn on the [MASK] . | she had the {x} on her [MASK] . | the {x} is for the [MASK] .
hat:head shoe:foot glove:hand ring:finger scarf:neck sock:foot crown:head mask:face boot:foot cap:head necklace:neck
watch:arm

gods | {x} was one of the [MASK] gods . | the [MASK] people prayed to {x} . | {x} stands in many [MASK] stories .
zeus:greek apollo:greek hera:greek athena:greek jupiter:roman mars:roman mercury:roman neptune:roman thor:norse
odin:norse isis:egyptian osiris:egyptian

company | {x} makes [MASK] . | the company {x} sells [MASK] . | {x} is known for its [MASK] .
ford:cars boeing:aircraft microsoft:software nintendo:games toyota:cars shell:oil ibm:computers apple:computers
airbus:aircraft mercedes:cars

sport | for {x} you need the [MASK] . | who plays {x} uses the [MASK] . | in {x} they hold the [MASK] .
football:ball basketball:ball chess:board fencing:sword

noun | the noun of {x} is [MASK] . | to be {x} is a matter of [MASK] . | how {x} it is depends on its [MASK] .
strong:strength long:length high:height wide:width deep:depth true:truth free:freedom wise:wisdom poor:poverty
beautiful:beauty dead:death young:youth

doer | to {x} is the work of the [MASK] . | whoever likes to {x} becomes the [MASK] . | they {x} as well as the [MASK] .
teach:teacher write:writer sing:singer paint:painter drive:driver play:player read:reader work:worker hunt:hunter
lead:leader build:builder rule:king fight:soldier

synonym | another word for {x} is [MASK] . | {x} means [MASK] . | {x} and [MASK] mean the same .
big:large begin:start quick:fast glad:happy ill:sick rich:wealthy correct:right small:little street:road shut:close
speak:talk

taste | the taste of {x} is [MASK] . | {x} tastes [MASK] . | you know {x} because it is [MASK] .
sugar:sweet lemon:sour honey:sweet coffee:bitter vinegar:sour chocolate:sweet pepper:hot medicine:bitter ice:cold
candy:sweet

temperature | the {x} is very [MASK] . | it is [MASK] because of the {x} . | near the {x} you feel [MASK] .
fire:hot ice:cold snow:cold sun:hot summer:hot winter:cold oven:hot frost:cold steam:hot desert:hot glacier:cold

medium | the {x} needs the [MASK] . | the place of the {x} is the [MASK] . | without the [MASK] the {x} cannot move .
ship:water plane:air car:road boat:water bus:road truck:road balloon:air submarine:water helicopter:air bicycle:road
canoe:water

store | she keeps {x} in the [MASK] . | the place for {x} is the [MASK] . | he took {x} from the [MASK] .
money:bank tea:cup wine:bottle soup:bowl clothes:closet books:library cars:garage bread:basket letters:drawer fuel:tank

effect | the {x} brings [MASK] . | the effect of the {x} is [MASK] . | because of the {x} there was [MASK] .
fire:smoke virus:disease joke:laughter frost:ice sun:heat poison:death lamp:light battle:death drought:hunger
storm:rain

use | you can [MASK] the {x} . | they wanted to [MASK] the {x} . | we will [MASK] the {x} .
water:drink milk:drink beer:drink bread:eat apple:eat meat:eat cake:eat book:read letter:read newspaper:read song:sing
car:drive truck:drive dress:wear coat:wear hat:wear

aim | they went to the [MASK] to {x} . | if you want to {x} , go to the [MASK] . | the place to {x} is the [MASK] .
pray:church learn:school sleep:bed cook:kitchen swim:sea study:school work:office dance:hall fish:river shop:market
worship:church rest:bed

weather | there is much {x} in [MASK] . | [MASK] is the time of {x} . | {x} comes with [MASK] .
snow:winter ice:winter heat:summer flowers:spring frost:winter harvest:autumn christmas:winter sunshine:summer

unit | we measure {x} in [MASK] . | {x} is counted in [MASK] . | {x} is given in [MASK] .
distance:miles time:hours weight:pounds temperature:degrees money:dollars height:feet age:years length:feet area:acres
depth:feet

legs | the {x} has [MASK] legs . | the {x} walks on [MASK] legs . | every {x} has [MASK] legs .
dog:four cat:four bird:two man:two horse:four cow:four ant:six woman:two wolf:four duck:two bear:four

cover | the body of the {x} is covered with [MASK] . | the {x} has [MASK] all over . | look at the [MASK] of the {x} .
bird:feathers fish:scales dog:hair cat:hair tree:bark man:skin sheep:wool eagle:feathers horse:hair woman:skin
duck:feathers

many_together | many {x} together are the [MASK] . | the {x} make up the [MASK] . | without {x} there is no [MASK] .
soldiers:army players:team trees:forest ships:fleet students:class houses:village books:library letters:word
words:sentence pages:book islands:chain stars:galaxy

source | we get {x} from the [MASK] . | {x} comes from the [MASK] . | the [MASK] gives us {x} .
milk:cow wool:sheep apples:tree wood:tree coal:mine salt:sea gold:mine fish:sea light:sun water:river heat:sun
corn:field

made_into | from {x} they make [MASK] . | the {x} becomes [MASK] . | there is no [MASK] without {x} .
milk:cheese wheat:bread wood:paper iron:steel sand:glass cotton:cloth leather:shoes flour:bread

couple | they spoke of {x} and [MASK] . | {x} and [MASK] belong together . | where there is {x} there is [MASK] .
king:queen bread:butter salt:pepper cup:plate sun:moon day:night husband:wife brother:sister table:chair black:white
thunder:lightning heaven:hell

mood | because of the {x} they were [MASK] . | the {x} made them [MASK] . | at the {x} everybody was [MASK] .
death:sad victory:happy danger:afraid gift:happy loss:sad threat:afraid funeral:sad wedding:happy insult:angry
joke:happy ghost:afraid

how_big | the {x} is very [MASK] . | everybody says how [MASK] the {x} is . | the {x} looks so [MASK] .
elephant:big ant:small mouse:small mountain:big ocean:big bee:small palace:big coin:small castle:big seed:small
giant:big atom:small insect:small

how_fast | the {x} is very [MASK] . | the {x} moves in the [MASK] way . | how [MASK] the {x} is !
rocket:fast turtle:slow train:fast plane:fast car:fast ox:slow horse:fast bullet:fast river:slow wind:fast

how_hard | the {x} is very [MASK] . | the {x} feels [MASK] . | how [MASK] the {x} is !
stone:hard iron:hard silk:soft rock:hard butter:soft steel:hard wool:soft skin:soft wood:hard bed:soft bone:hard

how_heavy | the {x} is very [MASK] . | to carry , the {x} is [MASK] . | how [MASK] the {x} is !
iron:heavy feather:light stone:heavy paper:light lead:heavy gold:heavy leaf:light rock:heavy wool:light anchor:heavy

shape | the {x} is [MASK] . | the shape of the {x} is [MASK] . | they drew the {x} as something [MASK] .
ball:round wheel:round coin:round ring:round plate:round moon:round map:flat floor:flat plain:flat apple:round
desert:flat street:straight line:straight arrow:straight

how_wet | in the {x} it is [MASK] . | the {x} is [MASK] . | they came back from the {x} quite [MASK] .
desert:dry sea:wet rain:wet swamp:wet river:wet sand:dry lake:wet dust:dry sun:dry storm:wet

how_light | in the {x} it is [MASK] . | it was [MASK] in the {x} . | the {x} is [MASK] .
night:dark day:bright midnight:dark cave:dark morning:bright sun:bright tunnel:dark summer:bright grave:dark

how_old | the {x} is very [MASK] . | everybody knows that the {x} is [MASK] . | the {x} looked quite [MASK] .
baby:young grandfather:old child:young grandmother:old boy:young girl:young student:young tower:old ruin:old
widow:old

how_rich | the {x} is very [MASK] . | everybody knows that the {x} is [MASK] . | as always , the {x} was [MASK] .
king:rich slave:poor merchant:rich lord:rich peasant:poor prince:rich emperor:rich
servant:poor

worth | the {x} was [MASK] . | they said that the {x} is [MASK] . | of course the {x} was [MASK] .
hero:good thief:bad angel:good criminal:bad saint:good enemy:bad friend:good devil:bad victory:good pain:bad

ruler | {x} ruled in [MASK] . | {x} was the leader of [MASK] . | the people of {x} lived in [MASK] .
caesar:rome elizabeth:england louis:france napoleon:france victoria:england lincoln:america washington:america

religion | people in {x} are mostly [MASK] . | the religion in {x} is [MASK] . | in {x} they are often [MASK] .
italy:catholic iran:muslim spain:catholic egypt:muslim poland:catholic turkey:muslim ireland:catholic pakistan:muslim
india:hindu portugal:catholic iraq:muslim mexico:catholic

study | {x} is the study of [MASK] . | he studies {x} and knows much about [MASK] . | {x} is about [MASK] .
biology:life astronomy:stars mathematics:numbers geography:earth physics:matter economics:money psychology:mind
theology:god philosophy:truth law:justice medicine:health

side | {x} lies in the [MASK] of europe . | {x} is a country in the [MASK] . | in europe , {x} is [MASK] .
norway:north italy:south spain:south sweden:north greece:south finland:north poland:east ireland:west
russia:east denmark:north

amount | they had one {x} of [MASK] . | he asked for the {x} of [MASK] . | give me the {x} of [MASK] .
cup:tea glass:water bottle:wine piece:paper bar:chocolate bowl:soup pair:shoes bunch:flowers sheet:paper barrel:oil

done_by | the [MASK] {x} . | at last the [MASK] {x} . | we saw that the [MASK] {x} .
sailed:ship ruled:king taught:teacher fought:army burned:fire blew:wind rang:bell landed:plane voted:people grew:tree

inside | in the {x} you find [MASK] . | the {x} is full of [MASK] . | there are many [MASK] in the {x} .
school:children library:books stable:horses garden:flowers hospital:patients forest:trees prison:prisoners
harbor:ships sky:stars church:people bank:money

head_of | the {x} is led by the [MASK] . | the head of the {x} is the [MASK] . | the [MASK] speaks for the {x} .
ship:captain army:general country:president kingdom:king team:coach church:bishop city:mayor empire:emperor
school:principal university:president

means | with the {x} you can [MASK] . | we need the {x} to [MASK] . | the {x} helps us to [MASK] .
knife:cut pen:write gun:shoot brush:paint key:open telephone:call bed:sleep boat:sail sword:fight plane:fly

digit | the number {x} is written as [MASK] . | {x} is the same as [MASK] . | {x} or [MASK] , it means the same .
one:1 two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 ten:10 twelve:12 twenty:20

reason | they {x} because they are [MASK] . | they must {x} as they are [MASK] . | you {x} if you feel [MASK] .
laugh:happy cry:sad smile:happy shout:angry sleep:tired eat:hungry sing:happy rest:tired hide:afraid

points | in {x} they score [MASK] . | who wins in {x} has more [MASK] . | the result in {x} is given in [MASK] .
football:goals hockey:goals baseball:runs cricket:runs basketball:points soccer:goals tennis:points

found_in | the {x} is found in the [MASK] . | you can see the {x} in the [MASK] . | look for the {x} in the [MASK] .
moon:sky cloud:sky star:sky fish:water tree:forest deer:forest wolf:forest cow:field corn:field wheat:field
"""


def _read() -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Templates and tables by relation."""
    templates, tables = {}, {}
    for block in BLOCKS.strip().split("\n\n"):
        head, rows = block.split("\n", 1)
        name, *sentences = (part.strip() for part in head.split("|"))
        templates[name], tables[name] = tuple(sentences), rows
    return templates, tables


MORE_TEMPLATES, MORE_TABLES = _read()
