"""The items that were written by hand for this book, `items.yaml`, by name; what each is stands there."""

from pathlib import Path

from bertology_utils.files import read_yaml

ITEMS = read_yaml(Path(__file__).with_name("items.yaml"))
