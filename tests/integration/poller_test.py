"""The git poller."""

import json
import shutil

import harness
from harness import wait_for

CONFIG = """
slaves:
  a: {pools: [p]}
pools: {p: }
projects:
  j: {git: %s, poll: 200ms, branches: [main, "topic-*"]}
builders:
  b: {project: j, pool: p, steps: [checkout, build: git log --oneline]}
"""


class PollerTest(harness.Test):
    def heads(self, farm):
        return [(b["branch"], b["revision"]) for b in reversed(farm.get("/builds")["builds"])]

    def test_pushes_rewrites_and_deletions(self):
        repo = self.repo()
        for n in range(5):
            first = repo.commit({"n": str(n)})
        farm = self.farm(CONFIG % repo.bare).start("a")
        wait_for("the head alone to be built", lambda: self.heads(farm) == [("main", first)])
        topic = repo.commit({"t": "1"}, "topic-1")
        wait_for("a new branch", lambda: self.heads(farm)[1:] == [("topic-1", topic)])
        repo.commit({"o": "1"}, "other")
        repo.run("checkout", "-q", "main")
        repo.run("commit", "-q", "--amend", "-m", "rewritten")
        rewritten = repo.run("rev-parse", "HEAD")
        repo.push("main")
        wait_for("a rewritten branch", lambda: self.heads(farm)[2:] == [("main", rewritten)])
        repo.run("reset", "-q", "--hard", first + "~1")
        older = repo.run("rev-parse", "HEAD")
        repo.push("main")
        wait_for("a branch moved back", lambda: self.heads(farm)[3:] == [("main", older)])
        repo.run("push", "-q", str(repo.bare), ":topic-1")
        wait_for("the deletion to be seen", lambda: "poller.gone" in farm.master.log())
        repo.push("topic-1")
        wait_for("the branch to be built again", lambda: self.heads(farm)[4:] == [("topic-1", topic)])
        for build in farm.get("/builds")["builds"]:
            farm.wait_result(build["id"], "success")
        farm.master.kill()
        farm.start_master()
        last = repo.commit({"z": "1"})
        wait_for("a push after a restart", lambda: ("main", last) in self.heads(farm))
        self.assertEqual(len(self.heads(farm)), 6, "known heads are not built again")

    def test_a_change_told_by_hand_is_not_the_branch(self):
        repo = self.repo()
        older = repo.run("rev-parse", "HEAD")
        head = repo.commit({"x": "1"})
        farm = self.farm(CONFIG % repo.bare).start("a")
        wait_for("the head", lambda: self.heads(farm) == [("main", head)])
        farm.cli("sendchange", "--project", "j", "--branch", "main", "--revision", older)
        farm.cli("sendchange", "--project", "j", "--branch", "main", "--revision", older)  # the same push: known
        farm.master.stop()
        farm.start_master()
        last = repo.commit({"x": "2"})
        wait_for("the next push", lambda: ("main", last) in self.heads(farm))
        self.assertEqual([r for _, r in self.heads(farm)], [head, older, last])

    def test_a_remote_that_is_away(self):
        repo = self.repo()
        away = self.folder / "away.git"
        farm = self.farm(CONFIG % repo.bare).start("a")
        wait_for("the first build", lambda: len(self.heads(farm)) == 1)
        shutil.move(repo.bare, away)
        wait_for("a line about it", lambda: "poller.failed" in farm.master.log())
        shutil.move(away, repo.bare)
        revision = repo.commit({"x": "y"})
        wait_for("the push to be found", lambda: ("main", revision) in self.heads(farm))
        self.assertEqual(farm.master.log().count("poller.failed"), 1, json.dumps(farm.master.log()[-2000:]))


if __name__ == "__main__":
    harness.main()
