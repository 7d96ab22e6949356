# Everything is installed into .venv; the work itself is done by the command `bertology`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: book test check serve full clean

book: $(STAMP)
	$(BIN)/bertology run
	$(BIN)/bertology check
	$(BIN)/bertology build

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile

# What needs the built book: its pages in headless Chromium, its panels in Firefox too; what is missing is named, its tests skip.
check: $(STAMP)
	if command -v npm >/dev/null; then cd tests/book/browser && npm install --no-audit --no-fund --no-package-lock; fi
	$(BIN)/python -m pytest tests/book/test_browser.py tests/book/test_ask_browser.py -rs

serve: book
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

full: $(STAMP)
	$(BIN)/bertology run --profile full

clean:
	rm -rf _build _executed

$(STAMP): requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@
