"""Builds of real repositories: branches, order, results, the command line's verbs."""

import json

import harness
from harness import simple_config, wait_for

THREE_BRANCHES = """
slaves:
  a-[1-2]: {pools: [p]}
pools: {p: }
projects:
  j:
    git: %s
    poll: 200ms
    branches: [main, one, two%s]
builders:
  b:
    project: j
    pool: p
    steps:
      - checkout
      - build: make
      - test: make check
"""

MAKEFILE = "all:\n\techo building > out\ncheck:\n\ttest -f out && echo 'it is there'\n"


class BuildsTest(harness.Test):
    def test_branches_build_and_a_fourth_is_one_line(self):
        repo = self.repo({"Makefile": MAKEFILE})
        for branch in ("one", "two", "three"):
            repo.commit({"name": branch}, branch)
        config = THREE_BRANCHES % (f"file://{repo.bare}", "")
        self.assertLess(len(config.strip().splitlines()), 21)
        farm = self.farm(config).start("a-1", "a-2")
        wait_for("three builds", lambda: len(farm.get("/builds")["builds"]) == 3)
        for number in (1, 2, 3):
            farm.wait_result(number, "success")
        self.assertEqual({b["branch"] for b in farm.get("/builds")["builds"]}, {"main", "one", "two"})
        farm.write(THREE_BRANCHES % (f"file://{repo.bare}", ", three"))
        self.assertIn("changed", farm.cli("reload"))
        wait_for("the build of the fourth", lambda: len(farm.get("/builds")["builds"]) == 4)
        build = farm.wait_result(4, "success")
        self.assertEqual(build["branch"], "three")
        self.assertEqual(build["revision"], repo.run("rev-parse", "three"))

    def test_sixty_builds_start_in_the_order_asked(self):
        repo = self.repo({"Makefile": MAKEFILE})
        repo.commit({"name": "one"}, "one")
        repo.commit({"name": "two"}, "two")
        config = THREE_BRANCHES % (f"file://{repo.bare}", "")
        farm = self.farm(config.replace("poll: 200ms", "poll: 0s").replace("make\n", "/bin/true\n").replace("make check", "/bin/true"))
        farm.start("a-1", "a-2")
        asked = [farm.force("b", branch=("main", "one", "two")[i % 3]) for i in range(60)]
        builds = [farm.wait_result(number, "success", patience=180) for number in asked]
        started = sorted(builds, key=lambda b: (b["started_at"], b["id"]))
        self.assertEqual([b["id"] for b in started], asked)
        log = [line for line in farm.master.log().splitlines() if "build.state" in line and "to=running" in line]
        self.assertEqual([int(line.split("build=")[1].split()[0]) for line in log], asked)

    def test_results_and_policies(self):
        repo = self.repo()
        farm = self.farm(
            simple_config(
                repo.bare,
                """
                - test: exit 3
                  on_failure: warn
                - test: exit 4
                  name: harder
                  on_failure: continue
                - build: echo still here
                - test: exit 5
                  name: last
                - build: echo never
                  name: never
                - build: echo always
                  name: tidy
                  always: true
                """,
            )
        ).start("a")
        build = farm.wait_result(farm.force("b"), "failure")
        results = [(s["name"], s["result"], s["exit_code"]) for s in build["steps"]]
        self.assertEqual(
            results,
            [
                ("test", "failure", 3), ("harder", "failure", 4), ("build", "success", 0), ("last", "failure", 5),
                ("never", "skipped", None), ("tidy", "success", 0),
            ],
        )

    def test_warnings_go_on(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- test: exit 1\n  on_failure: warn\n- build: 'true'")).start("a")
        build = farm.wait_result(farm.force("b"), "warnings")
        self.assertEqual([s["result"] for s in build["steps"]], ["failure", "success"])

    def test_environment_and_untrusted_names(self):
        repo = self.repo({"README": "x"})
        branch = "odd;touch${IFS}pwned"
        repo.commit({"a": "b"}, branch)
        farm = self.farm(simple_config(repo.bare, "- checkout\n- build: env; ls\n  env: {MINE: 'a b', LANG: C}")).start("a")
        number = farm.force("b", branch=branch)
        farm.wait_result(number, "success")
        log = farm.log(number, 2).decode()
        self.assertNotIn("pwned\n", log.replace(f"TAILRACE_BRANCH={branch}\n", ""))
        for line in (
            "TAILRACE=1", "CI=true", f"TAILRACE_BUILD={number}", "TAILRACE_BUILDER=b", f"TAILRACE_BRANCH={branch}", "TAILRACE_PROJECT=j",
            "TAILRACE_SLAVE=a", f"TAILRACE_REVISION={repo.run('rev-parse', branch)}", f"TAILRACE_URL={farm.url}/builds/{number}",
            "MINE=a b", "LANG=C",
        ):
            self.assertIn(line + "\n", log)

    def test_after_waits_runs_and_is_skipped(self):
        repo = self.repo()
        farm = self.farm(
            simple_config(
                repo.bare, "- checkout\n- build: test ! -e bad",
                more="""
                c:
                  project: j
                  pool: p
                  after: b
                  steps: [checkout, test: git rev-parse HEAD]
                d: {project: j, pool: p, after: c, steps: [build: "true"]}
                """,
            )
        ).start("a")
        first = farm.force("b")
        good = farm.get(f"/sets/{farm.build(first)['set']}")["builds"]
        ids = sorted(b["id"] if isinstance(b, dict) else b for b in good)
        self.assertEqual(len(ids), 3)
        for number in ids:
            farm.wait_result(number, "success")
        self.assertEqual(len({farm.build(n)["revision"] for n in ids}), 1)
        repo.commit({"bad": "x"})
        first = farm.force("b")
        farm.wait_result(first, "failure")
        for number in (first + 1, first + 2):
            self.assertEqual(farm.wait_state(number, "finished")["result"], "skipped")

    def test_benchmark_points(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- benchmark: echo $TAILRACE_ITERATION; sleep 0.05\n  iterations: 3\n  warmup: 1")).start("a")
        number = farm.force("b")
        farm.wait_result(number, "success")
        points = farm.get(f"/builds/{number}/points")["points"]
        wall = [p for p in points if p["metric"] == "wall"]
        self.assertEqual([p["iteration"] for p in wall], [1, 2, 3])
        self.assertTrue(all(0.05 <= p["value"] < 5 for p in wall), wall)
        self.assertEqual({p["metric"] for p in points}, {"wall", "user", "system", "max_rss"})

    def test_verbs(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- checkout\n- build: cat README")).start("a")
        out = farm.cli("force", "b", "--wait")
        self.assertIn(f"{farm.url}/builds/1", out)
        self.assertEqual(farm.cli("log", "1", "build"), "a project\n")
        self.assertEqual(json.loads(farm.cli("show", "1", "--json"))["result"], "success")
        for verb in ("status", "builders", "slaves", "queue", "builds"):
            self.assertTrue(farm.cli(verb).strip(), verb)
            json.loads(farm.cli(verb, "--json"))
        self.assertIn("2", farm.cli("rebuild", "1"))
        farm.cli("wait", "2")
        revision = repo.commit({"README": "new\n"})
        farm.cli("sendchange", "--project", "j", "--branch", "main", "--revision", revision, "--author", "A <a@b>", "--comment", "words")
        build = farm.wait_result(3, "success")
        self.assertEqual((build["revision"], build["author"]), (revision, "A <a@b>"))
        self.assertEqual(farm.get("/changes")["changes"][0]["comment"], "words")
        farm.cli("slave", "drain", "a")
        self.assertEqual(farm.slave("a")["state"], "draining")
        number = farm.force("b")
        self.assertEqual(farm.build(number)["state"], "queued")
        farm.cli("slave", "resume", "a")
        farm.cli("wait", number)
        failing = farm.cli("wait", "99", expect=None)
        self.assertEqual(failing.returncode, 2)
        self.assertEqual(farm.cli("force", "bb", expect=None).returncode, 2)
        self.assertIn("did you mean", farm.cli("statsu", expect=None).stderr)

    def test_a_failing_build_makes_wait_exit_1(self):
        repo = self.repo()
        farm = self.farm(simple_config(repo.bare, "- test: exit 1")).start("a")
        self.assertEqual(farm.cli("force", "b", "--wait", expect=None).returncode, 1)


if __name__ == "__main__":
    harness.main()
