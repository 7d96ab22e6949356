"""Published suites in the form of the generated pairs, on a few rows in the suites' formats, written here."""

from functools import partial

import numpy as np
import pytest

from bertology_utils.data import pair_sets
from bertology_utils.data import registry as data
from bertology_utils.data.material import is_held_out
from bertology_utils.errors import BertologyError
from bertology_utils.language import listed_pairs, pairs
from bertology_utils.studies.syntax import clozes as syntax_clozes
from bertology_utils.studies.syntax import polarity_methods
from bertology_utils.studies.syntax import probing as syntax_probes

SUBJECTS, ATTRACTORS = ("author", "customer"), ("guard", "minister")  # the first of each is for tests alone


def marvin(frame: str, nouns=ATTRACTORS) -> str:
    """The rows of a construction: "the S next to the N V" with every number of both nouns."""
    lines = []
    for subject in SUBJECTS:
        for noun in nouns:
            for plural in (False, True):
                for other in (False, True):
                    text = frame.replace("S", subject + "s" * plural).replace("N", noun + "s" * other)
                    verbs = ("laugh", "laughs") if plural else ("laughs", "laugh")
                    sentences = [text.replace("V", verb) for verb in verbs]
                    lines += [f"True\t{sentences[0]}", f"False\t{sentences[1]}"]
    return "\n".join(lines) + "\n"


GULORDAVA = [
    ("the thing to keep in mind is that owls sleep", 6, "P\t0\t0\t6\tVERB\tF\tis\tare\tbe\t1\tNOUN\tx"),
    ("the owls of the red wood read the stone", 6, "P\t0\t1\t6\tVERB\tF\tread\treads\tread\t2\tNOUN\tx"),
    ("the wood that eats is of green ideas", 4, "P\t0\t2\t4\tVERB\tF\tis\tare\tbe\t2\tNOUN\tx"),
    ("the owls read the stone every day", 2, "P\t0\t0\t6\tVERB\tF\tread\treads\tread\t0\tNOUN\tx"),
]
LINZEN = [
    ("the owls of the wood sleep here .", 5, "5\tsleep\tsleeps\t1"),
    ("the owl sleeps here .", 2, "2\tsleeps\tsleep\t0"),
]
WARSTADT = [
    "NPI-only\tOnly owls ever nap.\tEven owls ever nap.\t1\tenv=o_licensor=0-1_scope=1_npi_present=1",
    "NPI-only\tOwls will ever see only men.\tOnly owls will ever see men.\t0\tenv=o_licensor=1_scope=0-1_npi_present=1",
    "NPI-only\tOnly owls ever see men.\tOnly owls see men that ever nap.\t1\tenv=o_licensor=1_scope=0-1_npi_present=1",
    "NPI-only\tEven owls ever nap.\tEven owls often nap.\t0\tenv=only_licensor=0_scope=1_npi_present=1-0",
]
REFLEXIVE = ["True\tthe owl that the men saw hurt itself", "False\tthe owl that the men saw hurt themselves"]
ROLE = [
    "item\tcontext\texpected\texp_cloze\ttarget",
    "1-b\tthe cat saw which dog the man had \tfed\t1\tbitten",
    "1-a\tthe cat saw which man the dog had \tbitten|seen\t1\tbitten",
]
NEGATION = [
    "item\tcontext_aff\tcontext_neg\ttarget_aff\ttarget_neg",
    "0\tA cat is (a|an)\tA cat is not (a|an)\tanimal\ttree",
]
STORY = [
    "item\tcontext_s1\tcontext_s2\texpected\twithin_category\tbetween_category\tconstraint",
    "0\tIt was dark.\tHe lit a\tlamp\tfire\tdog\tH",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    def write(name, lines):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(lines if isinstance(lines, str) else "".join(line + "\n" for line in lines), encoding="utf-8")

    for name, frame in (
        ("simple_agrmt", "the S V"),
        ("prep_anim", "the S near the N V"),
        ("subj_rel", "the S that saw the N V"),
        ("obj_rel_across_anim", "the S that the N saw V"),
        ("sent_comp", "the N said the S V"),
    ):
        write(f"agreement/marvin_linzen_text/{name}.txt", marvin(frame))
    for name in ("prep_inanim", "obj_rel_across_inanim"):
        write(f"agreement/marvin_linzen_text/{name}.txt", [])
    write("agreement/marvin_linzen_text/reflexives_across.txt", REFLEXIVE)
    for stem, rows in (("agreement/English/generated", GULORDAVA), ("linzen_testset/subj_agr_filtered", LINZEN)):
        for column, ending in enumerate(("text", "eval", "gold")):
            write(f"agreement/gulordava/{stem}.{ending}", [str(row[column]) for row in rows])
    write("agreement/warstadt_npi/splits/acceptability_minimal_pairs.tsv", WARSTADT)
    for name, text in (("ROLE-88/ROLE-88", ROLE), ("NEG-136/NEG-136-SIMP", NEGATION), ("CPRAG-102/CPRAG-102", STORY)):
        write(f"cloze/ettinger_lm_diagnostics/datasets/{name}.tsv", text)
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(data.ORDER_VARIABLE, raising=False)


def test_embedded_pairs_are_the_generated_ones():
    assert pair_sets.agreement_pairs(6, 1, seed=3, split="test") == pairs.agreement_pairs(6, 1, seed=3, split="test")
    assert pair_sets.npi_pairs(4, "scope", seed=2, split="test") == pairs.npi_pairs(4, "scope", seed=2, split="test")
    assert pair_sets.role_reversal_pairs(5, 1) == listed_pairs.role_reversal_pairs(5, 1)
    assert pair_sets.negation_clozes(5, 1) == listed_pairs.negation_clozes(5, 1)


def test_nonsense_excludes_copulas_and_the_sentences_it_was_made_from(folder):
    (pair,) = pair_sets.agreement_pairs(10, nonsense=True, source="gulordava")
    assert pair.good[2:8] == ("of", "the", "red", "wood", "read", "the") and pair.bad[6] == "reads"
    (natural,) = pair_sets.agreement_pairs(10, attractors=1, split="test", source="gulordava")
    assert natural.good[natural.focus] == "sleep" and natural.condition["number"] == "plural"
    with pytest.raises(BertologyError, match="no pairs with 3 attractors"):
        pair_sets.agreement_pairs(10, attractors=3, split="test", source="gulordava")


@pytest.mark.parametrize("split", ["train", "test"])
def test_templates_know_their_nouns_and_share_none_between_the_splits(folder, split):
    assert [is_held_out(noun, 2) for noun in SUBJECTS + ATTRACTORS] == [True, False, True, False]
    for attractors in (0, 1):
        found = pair_sets.agreement_pairs(99, attractors, agreeing=1 - attractors, split=split, source="marvin_linzen")
        assert len(found) == 6 and {p.condition["structure"] for p in found} == set(pair_sets.INTERRUPTED)
        for pair in found:
            noun = pair.good[pair.focus - (2 if pair.condition["structure"] == "object_relative" else 1)]
            subject = pair.good[pair.condition["subject"]]
            lemmas = {subject.removesuffix("s"), noun.removesuffix("s")}
            assert lemmas == {kind[split == "train"] for kind in (SUBJECTS, ATTRACTORS)}
            assert subject.endswith("s") == (pair.condition["number"] == "plural") == (pair.good[pair.focus] == "laugh")
            assert (noun.endswith("s") != subject.endswith("s")) == attractors == pair.condition["attractors"]


def test_the_antecedent_of_a_reflexive_stands_before_the_relative_clause(folder):
    assert pair_sets.reflexive_pairs(4, 1, seed=2) == pairs.reflexive_pairs(4, 1, seed=2, split="test")
    (pair,) = pair_sets.reflexive_pairs(4, 1, source="marvin_linzen")
    assert (pair.good[pair.focus], pair.bad[pair.focus], pair.good[2:4]) == ("itself", "themselves", ("that", "the"))


def test_the_polarity_item_is_followed_where_it_moves_and_left_where_its_surroundings_change(folder):
    (licensor,) = pair_sets.npi_pairs(9, "licensor", source="warstadt_npi")
    assert licensor.good[0] == "Only" and licensor.good[licensor.focus] == "ever" == licensor.bad[licensor.bad_focus]
    (scope,) = pair_sets.npi_pairs(9, "scope", source="warstadt_npi")
    assert (scope.focus, scope.bad_focus, scope.good[0]) == (3, 2, "Only")


def test_conditions_are_compared_in_environments_that_both_have(folder):
    found = pair_sets.matched_npi_pairs(9, source="warstadt_npi", least=1)
    assert {name: len(kept) for name, kept in found.items()} == {"licensor": 1, "scope": 1}
    assert {(p.condition["condition"], p.condition["npi"]) for kept in found.values() for p in kept} == {
        ("NPI-only", "ever")
    }
    with pytest.raises(BertologyError, match="No environment of 'warstadt_npi' has 20 pairs"):
        pair_sets.matched_npi_pairs(9, source="warstadt_npi")
    assert pair_sets.matched_npi_pairs(4, seed=2)["scope"] == pair_sets.npi_pairs(4, "scope", seed=2)


def test_each_environment_gives_as_many_pairs_to_one_condition_as_to_the_other(monkeypatch):
    sizes = {"licensor": {"a": 30, "b": 25, "c": 40}, "scope": {"a": 50, "b": 20, "c": 19}}

    def npi_pairs(n, condition, seed, split, source):
        named = ({"condition": env, "npi": "ever"} for env, size in sizes[condition].items() for _ in range(size))
        return [pairs.MinimalPair(("ever",), ("ever",), 0, "npi", name) for name in named]

    monkeypatch.setattr(pair_sets, "npi_pairs", npi_pairs)
    for n, share in ((1000, 20), (30, 15)):
        for kept in pair_sets.matched_npi_pairs(n, source="some_suite").values():
            names = [pair.condition["condition"] for pair in kept]
            assert (names.count("a"), names.count("b"), len(names)) == (share, share, 2 * share)


def test_originals_of_nonsense_are_the_natural_sentences_without_copula(folder):
    (original,) = pair_sets.natural_originals("gulordava")
    assert original.good[2] == "read" and original.condition["construction"] == "P 0"


def test_diagnostics_put_the_likely_roles_first(folder):
    (pair,) = pair_sets.role_reversal_pairs(source="ettinger")
    assert pair.good[4:] == ("man", "the", "dog", "had", "bitten", ".") and pair.bad[4] == "dog"
    assert pair.good[pair.focus] == pair.bad[pair.bad_focus] == "bitten"
    plain, negated = pair_sets.negation_clozes(source="ettinger")
    assert plain.words == ("A", "cat", "is", "an", "[MASK]", ".") and (plain.true, plain.false) == ("animal", "tree")
    assert negated.words[3] == "not" and (negated.true, negated.focus) == ("tree", 5)
    (story,) = pair_sets.pragmatic_clozes("ettinger")
    assert (story.words[-3:], story.true, story.false) == (("a", "[MASK]", "."), "lamp", "fire")


def test_the_likely_roles_are_those_that_the_file_names_first(folder, tmp_path):
    """The verb that the roles decide may be nobody's first choice; "-b" stands above "-a" all the same."""
    rare = [line.replace("bitten|seen", "fed").replace("fed\t1", "fed|hit\t1") for line in ROLE]
    place = tmp_path / "cloze/ettinger_lm_diagnostics/datasets/ROLE-88/ROLE-88.tsv"
    place.write_text("\n".join(rare), encoding="utf-8")
    (pair,) = pair_sets.role_reversal_pairs(source="ettinger")
    assert (pair.good[4], pair.bad[4]) == ("man", "dog") and pair.good[pair.focus] == "bitten"


def test_experiments_run_on_the_suites(folder, tiny, tiny_eager, monkeypatch):
    monkeypatch.setattr(polarity_methods, "matched_npi_pairs", partial(pair_sets.matched_npi_pairs, least=1))
    polarity = polarity_methods.cloze_choices(tiny, 4, source="warstadt_npi")
    assert [len(polarity[name]) for name in ("licensor", "scope")] == [1, 1]
    assert syntax_clozes.negation(tiny, source="ettinger")["correlation_not"].shape == (1,)
    found = syntax_clozes.psycholinguistic_suite(tiny, source="ettinger")
    assert found["role_accuracy"].shape == (2,) and found["role_sensitivity"].shape == (1,)
    tools = syntax_probes.three_tools(tiny_eager, 8, 3, source="marvin_linzen")
    assert all(np.isin(values, (0, 0.5, 1)).all() for values in tools.values())
    fronted = pair_sets.agreement_pairs(40, 1, split="test", source="marvin_linzen", structure="fronted")
    for pair in fronted:
        subject, other = pair.good[int(pair.condition["subject"])], pair.good[syntax_probes.attractor_place(pair)]
        assert subject.removesuffix("s") in SUBJECTS and other.removesuffix("s") in ATTRACTORS
        assert subject.endswith("s") != other.endswith("s") and pair.condition["distance"] == 1
