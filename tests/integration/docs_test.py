"""The documents: every example works, every path and link leads somewhere, every command exists.

How a block of a document is tried is told by its fence:

    ```yaml   its first line names it: `# master.yaml` is checked, `# slave.yaml` starts a slave, `# steps` are the steps of a builder that is checked, `# NAME.yaml`
              is a file that the examples after it include
    ```sh     runs after `<!-- run -->`, against a master with the README's configuration and its slaves
"""

import os
import pathlib
import re
import shutil
import subprocess
import textwrap
import urllib.parse

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "proto").glob("*.md"))]
FENCE = re.compile(r"^(?:<!-- (?P<mark>[^>]*?) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
# Programs that a block may start in its first word, checked against what the program says of itself.
PROGRAMS = ("tailrace", "tailrace-master", "tailrace-slave")
STEPS = """
slaves: {{a: {{pools: [p]}}}}
pools: {{p: }}
projects: {{j: {{git: /srv/git/j.git, branches: [main]}}}}
builders:
  b:
    project: j
    pool: p
    steps:
{steps}
"""


def blocks(page, kind=None):
    """(mark, kind, text) of each fenced block."""
    for match in FENCE.finditer(page.read_text()):
        if kind is None or match["kind"] == kind:
            yield match["mark"], match["kind"], match["text"]


def commands(page):
    """Lines that a reader is to type: fenced as sh, or indented by four."""
    lines = [line for _, _, text in blocks(page, "sh") for line in text.splitlines()]
    prose = FENCE.sub("", page.read_text())
    lines += [line[4:] for line in prose.splitlines() if line.startswith("    ")]
    # Typed at a prompt in a block that also shows the answer.
    lines += [line[2:] for _, _, text in blocks(page, "") for line in text.splitlines() if line.startswith("$ ")]
    return [line.split(" # ")[0].strip() for line in lines]


def inline_code(page):
    return re.findall(r"`([^`\n]+)`", FENCE.sub("", page.read_text()))


def anchors(page):
    """The anchors of a page's headings, as the usual renderers make them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.M):
        found.add(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    return found


def program(*arguments, cwd=None):
    return subprocess.run(
        [str(harness.BIN / arguments[0]), *arguments[1:]], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
    )


def has_secrets(folder, text):
    """Makes the secret files that a configuration names."""
    for name in re.findall(r"\b(?:secret_file|token_file): ([^\s,}]+)", text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("0123456789abcdef0123456789abcdef\n")
        path.chmod(0o600)


class LinksTest(harness.Test):
    def test_links_lead_somewhere(self):
        for page in PAGES:
            prose = FENCE.sub("", page.read_text())
            for target in re.findall(r"\]\(([^)\s]+)\)", prose):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                file = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
                with self.subTest(page=page.name, link=target):
                    self.assertTrue(file.exists(), "there is no such file")
                    if anchor:
                        self.assertIn(anchor, anchors(file))

    def test_paths_in_the_text_exist(self):
        tops = {entry.name for entry in ROOT.iterdir() if entry.is_dir()} - {"build"}
        for page in PAGES:
            for code in inline_code(page):
                word = code.split()[0]
                if "/" not in word or word.split("/")[0] not in tops or not re.fullmatch(r"[\w./+-]+", word):
                    continue
                with self.subTest(page=page.name, path=word):
                    self.assertTrue((ROOT / word).exists(), "there is no such path")

    def test_every_folder_of_sources_is_told(self):
        text = (ROOT / "docs" / "architecture.md").read_text()
        sources = {f.parent.relative_to(ROOT) for top in ("common", "proto", "slave", "master", "client") for f in (ROOT / top).rglob("*.c")}
        for folder in sorted(sources):
            self.assertIn(f"`{folder}/`", text)


class CommandsTest(harness.Test):
    def test_verbs_exist(self):
        verbs = set(re.findall(r"^  ([a-z]+)\b", program("tailrace", "help").stdout, re.M))
        self.assertIn("force", verbs)
        told = 0
        for page in PAGES:
            words = [line.split() for line in commands(page) + inline_code(page)]
            for line in words:
                if len(line) < 2 or line[0] != "tailrace" or not re.fullmatch(r"[a-z]+", line[1]):
                    continue
                told += 1
                with self.subTest(page=page.name, command=" ".join(line)):
                    self.assertIn(line[1], verbs | {"help"})
        self.assertGreater(told, 10)

    def test_every_verb_is_told(self):
        page = (ROOT / "docs" / "command-line.md").read_text()
        for verb in set(re.findall(r"^  ([a-z]+)\b", program("tailrace", "help").stdout, re.M)) - {"help"}:
            self.assertTrue(re.search(rf"^\| `{verb}\b", page, re.M), verb)

    def test_options_exist(self):
        helps = {name: program(name, "--help").stdout for name in PROGRAMS}
        for verb in re.findall(r"^  ([a-z]+)\b", program("tailrace", "help").stdout, re.M):
            helps["tailrace"] += program("tailrace", "help", verb).stdout
        told = 0
        for page in PAGES:
            for option in re.findall(r"`(--[a-z-]+)", FENCE.sub("", page.read_text())):
                if page.name != "performance.md":  # its tools are not these programs
                    self.assertTrue(any(re.search(rf"{option}\b", text) for text in helps.values()), f"{page.name}: {option}")
            for line in commands(page) + inline_code(page):
                for command in re.split(r"&&|\|\|?|;", line):
                    words = command.split()
                    if not words or words[0] not in PROGRAMS:
                        continue
                    for option in re.findall(r"(?<!\S)\[?(--[a-z-]+)", command):
                        told += 1
                        with self.subTest(page=page.name, command=command):
                            self.assertRegex(helps[words[0]], rf"{option}\b")
        self.assertGreater(told, 10)


class ExamplesTest(harness.Test):
    def check(self, page, text):
        file = self.folder / "master.yaml"
        file.write_text(text)
        has_secrets(self.folder, text)
        done = program("tailrace", "check", "master.yaml", cwd=self.folder)
        self.assertEqual(done.returncode, 0, f"{page.name}:\n{text}\n{done.stdout}")

    def check_slave(self, page, text):
        """A slave starts with it; where it is and what it dials is ours."""
        (self.folder / "slave.yaml").write_text(text)
        has_secrets(self.folder, text)
        arguments = ["tailrace-slave", "--config", str(self.folder / "slave.yaml"), "--master", "127.0.0.1:1", "--dir", str(self.folder / "slave")]
        slave = harness.Process("slave", arguments, self.folder / "slave.log")
        self.addCleanup(slave.end)
        harness.wait_for(
            f"a slave with the example of {page.name}",
            lambda: "agent.started" in slave.log() or self.assertIsNone(slave.popen.poll(), slave.log()),
        )

    def test_yaml(self):
        kinds = {"# master.yaml": 0, "# slave.yaml": 0, "# steps": 0}
        for page in PAGES:
            for _, _, text in blocks(page, "yaml"):
                first = text.splitlines()[0]
                with self.subTest(page=page.name, block=first):
                    if first == "# master.yaml":
                        self.check(page, text)
                    elif first == "# slave.yaml":
                        self.check_slave(page, text)
                    elif first == "# steps":
                        self.check(page, STEPS.format(steps=textwrap.indent(text, "      ")))
                    else:
                        self.assertRegex(first, r"^# [\w-]+\.yaml$", "the first line does not say what this is")
                        (self.folder / first[2:]).write_text(text)
                    kinds[first] = kinds.get(first, 0) + 1
        self.assertTrue(all(kinds.values()), kinds)

    def test_every_key_is_told(self):
        """The keys that the programs accept, as their errors list them, are the keys of the tables."""
        page = (ROOT / "docs" / "configuration.md").read_text()
        told = set(re.findall(r"^\| (`[^|]*`) \|", page, re.M))
        told = {word.strip("`") for cell in told for word in re.findall(r"`[\w]+`", cell)}
        sources = ["config_master.c", "config_builders.c", "config_steps.c"]
        text = "".join((ROOT / "master" / name).read_text() for name in sources) + (ROOT / "slave" / "config.c").read_text()
        keys = {key for table in re.findall(r"\bkeys?\[\] = \{(.*?)\};|_keys\[\] = \{(.*?)\};", text, re.S) for key in re.findall(r'"(\w+)"', "".join(table))}
        self.assertGreater(len(keys), 40)
        nested = {"submodules", "clean"}  # of checkout, told in its row
        self.assertEqual(keys - told - nested, set())
        self.assertTrue(all(f"`{key}: " in page for key in nested))

    def test_defaults_are_the_defaults(self):
        """A master that is told the documented defaults changes nothing."""
        page = (ROOT / "docs" / "configuration.md").read_text()
        told = page[page.index("Every key with its default"):]
        lines = re.findall(r"^  ((?:\w+)(?:_after|_timeout|_attempts): \w+)", told[:told.index("|")], re.M)
        self.assertGreater(len(lines), 5)
        farm = self.farm(harness.simple_config("/srv/git/j.git", "- build: make")).start()
        farm.extra = "\n".join(lines)
        farm.write(farm.body)
        self.assertNotIn("master", farm.post("/reload")["changed"])
        farm.extra = farm.extra.replace("max_attempts: ", "max_attempts: 1")
        farm.write(farm.body)
        self.assertIn("master", farm.post("/reload")["changed"])


class RunTest(harness.Test):
    """What a reader is told to type, typed."""

    def setUp(self):
        super().setUp()
        repo = self.repo({"Makefile": "all check bench:\n\t@echo done $@\n", "bench": "#!/bin/sh\nexit 0\n"})
        config = next(text for _, _, text in blocks(ROOT / "README.md", "yaml"))
        config = re.sub(r"^master:\n(?:[ #].*\n|\n)*", "", config, flags=re.M)
        self.assertIn("/srv/git/app.git", config)
        self.farm_of_readme = self.farm(config.replace("/srv/git/app.git", str(repo.bare)))
        self.farm_of_readme.start("linux-01", "linux-02")

    def run_block(self, page, text):
        farm = self.farm_of_readme
        environment = {**os.environ, "PATH": f"{harness.BIN}:{os.environ['PATH']}", "TAILRACE_MASTER": farm.url, "NO_COLOR": "1"}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text], cwd=farm.folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=harness.PATIENCE * 2,
        )
        self.assertEqual(done.returncode, 0, f"{page.name}:\n{text}\n{done.stdout}")
        return done.stdout

    def test_blocks(self):
        outputs = {}
        for page in PAGES:
            for mark, _, text in blocks(page, "sh"):
                if mark == "run":
                    outputs[page.name] = outputs.get(page.name, "") + self.run_block(page, text)
        self.assertIn("done check", outputs["README.md"])
        self.assertRegex(outputs["README.md"], r"build \d+ finished: success")
        self.assertIn("operations.md", outputs)

    def test_backup_fits_together(self):
        farm = self.farm_of_readme
        farm.wait_result(1, "success")
        log = farm.log(1, 3)
        page = ROOT / "docs" / "operations.md"
        self.run_block(page, next(text for mark, _, text in blocks(page, "sh") if mark == "run: backup"))
        farm.wait_result(2)
        farm.master.stop()
        shutil.rmtree(farm.folder / "data")
        (farm.folder / "data").mkdir()
        shutil.move(farm.folder / "tailrace.db.copy", farm.folder / "data" / "tailrace.db")
        shutil.move(farm.folder / "logs.copy", farm.folder / "data" / "logs")
        farm.start_master()
        self.assertEqual(farm.build(1)["result"], "success")
        self.assertEqual(farm.log(1, 3), log)

    def test_logs_deleted_by_hand(self):
        farm = self.farm_of_readme
        farm.wait_result(1, "success")
        farm.wait_result(2)
        shutil.rmtree(farm.folder / "data" / "logs" / "0" / "1")
        self.assertEqual(farm.build(1)["result"], "success")
        farm.wait_result(farm.force("app-build"), "success")


if __name__ == "__main__":
    harness.main()
