"""Further relations of simple true facts, as tables and templates for `facts`; it depends on nothing.

Intervals over facts are taken over relations, whose facts share their prompts; so relations count for more than facts.
Each block is a name, its templates, and its facts (subject:object). No template shows an article before the blank, or a
word that only one of the answers allows.
"""

from __future__ import annotations

BLOCKS = """
continent | {x} is a country in [MASK] . | the country of {x} lies in [MASK] . | the continent of {x} is [MASK] .
france:europe germany:europe italy:europe egypt:africa kenya:africa nigeria:africa china:asia japan:asia india:asia
iran:asia brazil:america canada:america mexico:america peru:america

currency | the money of {x} is the [MASK] . | in {x} you pay with the [MASK] . | {x} had the [MASK] as its currency .
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
cow:grass cat:mice bear:honey rabbit:grass spider:flies frog:insects lion:meat horse:hay sheep:grass squirrel:nuts
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
football:ball basketball:ball golf:club hockey:stick baseball:bat chess:board cricket:bat fencing:sword

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
