"""Fixtures: a tiny random specimen whose tokenizer knows the grammar's words, and its twin."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # here and in child processes: other numbers of threads round otherwise

import pytest
import torch
from hub_cache import KINDS, add_to_cache, use_only
from hypothesis import HealthCheck, settings
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForPreTraining, PreTrainedTokenizerFast

# `pytest --hypothesis-profile fuzz` tries the same properties for minutes.
settings.register_profile(
    "tests", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.register_profile("fuzz", settings.get_profile("tests"), max_examples=20_000)
settings.load_profile("tests")

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """WordPiece over the grammar's words, single characters, and a few suffixes, so that unknown words fall apart."""
    from bertology_utils.language.lexicon import FUNCTION_WORDS, SPLITS, load_lexicon

    words = sorted(set(FUNCTION_WORDS).union(*(load_lexicon(split).forms() for split in SPLITS)))
    characters = sorted({c for w in words for c in w} | set("abcdefghijklmnopqrstuvwxyz0123456789.,?!'-"))
    pieces = SPECIAL + words + [c for c in characters if c not in words] + [f"##{c}" for c in characters]
    backend = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=128, **names)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory):
    """A saved 2-layer model of 32 dimensions and 4 heads with random weights."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    tokenizer = tiny_tokenizer()
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=128,
    )  # fmt: skip
    BertForPreTraining(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def hub_folder(tmp_path_factory: pytest.TempPathFactory):
    """A hub cache with a small random model of every kind."""
    folder = tmp_path_factory.mktemp("hub")
    for name in KINDS:
        add_to_cache(folder, name)
    return folder


@pytest.fixture
def only_this_cache(hub_folder, monkeypatch):
    """No network, and no other cache than `hub_folder`."""
    use_only(monkeypatch, hub_folder)


@pytest.fixture(params=KINDS)
def specimen(request, only_this_cache):
    """A small model of each kind of the hub, by its hub id."""
    from bertology_utils.models import load

    return load(request.param)


@pytest.fixture(params=KINDS)
def eager(request, only_this_cache):
    """The same with attention maps."""
    from bertology_utils.models import load

    return load(request.param, attention="eager")


@pytest.fixture(scope="session")
def tiny(tiny_folder):
    from bertology_utils.models import load

    return load(str(tiny_folder))


@pytest.fixture(autouse=True)
def _tiny_as_before(request):
    """Fails the test that leaves the shared network drawing dropout, and not some later one."""
    yield
    if "tiny" in request.fixturenames:
        assert not any(module.training for module in request.getfixturevalue("tiny").model.modules())


@pytest.fixture(scope="session")
def tiny_eager(tiny_folder):
    from bertology_utils.models import load

    return load(str(tiny_folder), attention="eager")


@pytest.fixture(scope="session")
def tiny_twin(tiny):
    from bertology_utils.models import twin

    return twin(tiny)


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """An empty folder of data sets in the place of the reader's own; gives what writes a text into a file below it."""
    from bertology_utils.data import registry

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    monkeypatch.setenv(registry.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(registry.ORDER_VARIABLE, raising=False)
    return write
