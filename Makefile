# make demo and make test do all the set-up on a fresh machine; a second run is fast.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test check format bench encyclopedia docs clean
install: .venv/.installed

.venv/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,check]'
	touch $@

# Ends in a page in the browser, until Ctrl-C; for scripts: make demo DEMO=--no-serve
demo: install
	$(BIN)/linkwalk demo -o out/demo $(DEMO)

# Every core takes tests, and some from another that has more left.
test: install
	$(BIN)/pytest -n auto --maxprocesses 8 --dist worksteal

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Each script answers one question; results are dated files in bench/results. Needs the wiki data beside the project.
bench: install
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python bench/run.py

# Pack the encyclopedia's sources into what ships with the package, and write the page of the command line.
encyclopedia: install
	$(BIN)/python encyclopedia/pack.py

docs: install
	$(BIN)/python docs/make_cli.py

clean:
	rm -rf out .pytest_cache .mypy_cache .ruff_cache
