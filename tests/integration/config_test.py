"""Configurations: what the examples say, and files that nobody here wrote."""

import pathlib
import resource
import subprocess

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def check(path, limit_mb=None):
    def limits():
        if limit_mb:
            resource.setrlimit(resource.RLIMIT_AS, (limit_mb << 20, limit_mb << 20))

    return subprocess.run(
        [str(harness.BIN / "tailrace"), "check", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, text=True, errors="replace",
        preexec_fn=limits,
    )


class ConfigTest(harness.Test):
    def test_examples(self):
        for name in ("minimal", "farm", "wordbag"):
            done = check(ROOT / "examples" / name / "master.yaml")
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertIn("builder", done.stdout)
        farm = (ROOT / "examples" / "farm" / "master.yaml").read_text().splitlines()
        self.assertLessEqual(len(farm), 25)

    def test_files_of_others(self):
        files = sorted(f for f in (ROOT / "tests" / "data" / "yaml").rglob("*") if f.is_file() and f.suffix != ".md")
        self.assertGreater(len(files), 20)
        for file in files:
            done = check(file, None if harness.SANITIZED else 100)
            self.assertEqual(done.returncode, 1, file)
            for line in done.stderr.splitlines():
                self.assertRegex(line, r":\d+:\d+: .|there are more errors", file)

    def bad(self, text, pattern):
        file = self.folder / "master.yaml"
        file.write_text(text)
        done = check(file)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, pattern)
        return done.stderr

    def test_errors_have_places_and_suggestions(self):
        base = """
slaves:
  a-[1-3]: {pools: [p]}
pools: {p: }
projects:
  j: {git: /srv/x, branches: [main]}
builders:
  b: {project: j, pool: p, steps: [build: make]}
"""
        file = self.folder / "master.yaml"
        file.write_text(base)
        self.assertEqual(check(file).returncode, 0)
        self.bad(base.replace("build: make", "build: make, tiemout: 5"), r"master.yaml:8:\d+: .*tiemout.*timeout")
        self.bad(base.replace("pool: p,", "pool: q,"), r":8:\d+: there is no pool q")
        self.bad(base.replace("project: j", "project: k"), r":8:\d+: there is no project k")
        self.bad(base.replace("build: make", "bild: make"), r":8:\d+: .*bild.*build")
        self.bad(base.replace("git: /srv/x", "git: 'ext::sh -c id'"), r":6:\d+: git")
        self.bad(base.replace("pools: [p]", "pools: [p], slots: many"), r":3:\d+: .*many")
        self.bad(base.replace("pool: p,", "pool: p, needs: [gpu],"), r":8:\d+: builder b can never run")
        self.bad(base + "  b: {project: j, pool: p, steps: [build: make]}\n", r":9:\d+: .*8")
        self.bad(base + "  c: {project: j, pool: p, after: d, steps: [build: m]}\n  d: {project: j, pool: p, after: c, steps: [build: m]}\n", r"comes after")
        self.bad(base.replace("  b:", "\tb:"), r":8:\d+: .*tab")
        self.bad("include: gone.yaml\n" + base, r":1:\d+: include: .*gone.yaml")
        self.bad("master: {listen: 0.0.0.0:9989}\n" + base, r":1:\d+: listen")
        self.bad("master: {web: 0.0.0.0:80}\n" + base, r":1:\d+: web")
        errors = self.bad(base.replace("pool: p,", "pool: q,").replace("project: j", "project: k") + "xyz: 1\n", r"xyz")
        self.assertEqual(len(errors.splitlines()), 3, errors)

    def test_words_mean_what_they_say(self):
        file = self.folder / "master.yaml"
        file.write_text("""
slaves: {no: {pools: [on]}}
pools: {on: }
projects:
  1.10: {git: /srv/x, branches: [no, 1.10, 0755, 1e3, "12:30"]}
builders:
  yes: {project: 1.10, pool: on, env: {A: no, B: 1.10, C: 0755, D: 12:30, E: }, steps: [build: make]}
""")
        done = check(file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("branches no 1.10 0755 1e3 12:30", done.stdout)


if __name__ == "__main__":
    harness.main()
