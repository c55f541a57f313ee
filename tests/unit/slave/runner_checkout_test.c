/* The checkout step, on repositories made here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/io/fsx.h"
#include "slave/gitfiles.h"
#include "tests/unit/slave/attempt_rig.h"

struct fixture {
    struct rig rig;
    struct msg_step steps[2];
    struct msg_start job;
    char *url;
    char *first, *second; /* commits of master */
};

static void open_fixture(struct fixture *f)
{
    struct rig *rig = &f->rig;

    memset(f, 0, sizeof *f);
    rig_open(rig);
    free(rig_sh(rig, "git init -q -b master repo; cd repo; echo 1 > file; echo x > gone; "
                     "git add .; git commit -q -m one; git tag -a -m t v1; "
                     "echo 2 > file; git rm -q gone; git commit -q -a -m two; "
                     "git branch release-1 HEAD~1"));
    f->first = rig_sh(rig, "git -C repo rev-parse HEAD~1");
    f->second = rig_sh(rig, "git -C repo rev-parse HEAD");
    f->url = xasprintf("file://%s/repo", rig->dir);
    f->steps[0] = (struct msg_step){.name = view_of("checkout"), .kind = STEP_CHECKOUT};
    f->steps[1] = rig_shell("see", "cat file; ls");
    f->job = rig_job(f->steps, 2);
    f->job.git = view_of(f->url);
}

static void close_fixture(struct fixture *f)
{
    rig_close(&f->rig);
    free(f->url);
    free(f->first);
    free(f->second);
}

static void check_out(struct fixture *f, const char *branch, const char *revision)
{
    f->job.branch = view_of(branch);
    f->job.revision = view_of(revision);
    rig_run(&f->rig, &f->job);
}

static bool fetched(struct fixture *f)
{
    return rig_log_has(&f->rig, 1, " fetch --progress");
}

static void test_tip_then_exact_revisions(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.steps[1].shell =
        view_of("cat file; ls; echo $TAILRACE_REVISION; git describe --tags --always; "
                "git branch -r; git remote get-url origin");
    check_out(&f, "master", "");
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    assert_string_equal(f.rig.revision, f.second);
    assert_true(fetched(&f));
    assert_true(rig_log_has(&f.rig, 1, "$ git "));
    assert_true(rig_log_has(&f.rig, 2, "2\nfile\n"));
    assert_true(rig_log_has(&f.rig, 2, f.second));
    assert_true(rig_log_has(&f.rig, 2, "v1-1-g"));
    assert_true(rig_log_has(&f.rig, 2, "origin/release-1\n"));
    assert_true(rig_log_has(&f.rig, 2, f.url));

    /* What the mirror has is not fetched. */
    check_out(&f, "master", f.first);
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    assert_string_equal(f.rig.revision, f.first);
    assert_false(fetched(&f));
    assert_true(rig_log_has(&f.rig, 2, "1\nfile\ngone\n"));

    /* A short hash, a tag, a branch as the revision. */
    f.first[9] = '\0';
    check_out(&f, "master", f.first);
    assert_int_equal(strlen(f.rig.revision), 40);
    assert_int_equal(strncmp(f.rig.revision, f.first, 9), 0);
    check_out(&f, "", "v1");
    assert_int_equal(strncmp(f.rig.revision, f.first, 9), 0);
    check_out(&f, "", "release-1");
    assert_int_equal(strncmp(f.rig.revision, f.first, 9), 0);
    close_fixture(&f);
}

static void test_new_commits_are_fetched(void **state)
{
    struct fixture f;
    char *third;

    (void)state;
    open_fixture(&f);
    check_out(&f, "master", f.second);
    third = rig_sh(&f.rig, "cd repo; echo 3 > file; git commit -q -a -m three; git rev-parse HEAD");
    check_out(&f, "master", third);
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    assert_true(fetched(&f));
    assert_true(rig_log_has(&f.rig, 2, "3\n"));
    free(third);
    close_fixture(&f);
}

static void test_clean_tree_or_kept(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.steps[1].shell = view_of("ls -A; cat file; echo changed > file; mkdir -p out/nested; "
                               "git init -q out/nested; echo o > out/o; echo ignored > .gitignore; "
                               "echo i > ignored; chmod 500 out/nested");
    check_out(&f, "master", f.second);
    check_out(&f, "master", f.second);
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    assert_string_equal(rig_log(&f.rig, 2), ".git\nfile\n2\n");
    f.steps[0].keep_tree = true;
    check_out(&f, "master", f.first);
    assert_string_equal(rig_log(&f.rig, 2), ".git\n.gitignore\nfile\ngone\nignored\nout\n1\n");
    close_fixture(&f);
}

static void test_force_push(void **state)
{
    struct fixture f;
    char *amended;

    (void)state;
    open_fixture(&f);
    check_out(&f, "master", "");
    amended = rig_sh(&f.rig, "cd repo; echo 4 > file; git commit -q -a --amend -m amended; "
                             "git reflog expire --expire=now --all; git gc -q --prune=now; "
                             "git rev-parse HEAD");
    check_out(&f, "master", "");
    assert_string_equal(f.rig.revision, amended);
    assert_true(rig_log_has(&f.rig, 2, "4\n"));
    /* The mirror still has the old one. */
    check_out(&f, "master", f.second);
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    assert_true(rig_log_has(&f.rig, 2, "2\n"));
    free(amended);
    close_fixture(&f);
}

static void test_deleted_branch_makes_way(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    check_out(&f, "release-1", "");
    free(rig_sh(&f.rig, "cd repo; git branch -D release-1; git branch release-1/fix master"));
    check_out(&f, "release-1/fix", "");
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    assert_string_equal(f.rig.revision, f.second);
    close_fixture(&f);
}

static void test_what_is_not_there(void **state)
{
    static const char missing[] = "0123456789012345678901234567890123456789";
    struct fixture f;
    char *reason;

    (void)state;
    open_fixture(&f);
    check_out(&f, "master", missing);
    reason = xasprintf("revision %s is not in repository %s (force-pushed away?)", missing, f.url);
    assert_int_equal(f.rig.steps[1].result, RESULT_FAILURE);
    assert_string_equal(f.rig.steps[1].reason, reason);
    assert_int_equal(f.rig.steps[2].result, RESULT_SKIPPED);
    free(reason);
    check_out(&f, "nope", "");
    assert_int_equal(f.rig.steps[1].result, RESULT_FAILURE);
    assert_non_null(strstr(f.rig.steps[1].reason, "branch nope is not in repository"));
    check_out(&f, "--upload-pack=touch owned", "");
    assert_non_null(strstr(f.rig.steps[1].reason, "branch --upload-pack=touch owned is not in"));
    check_out(&f, "master", "--help");
    assert_non_null(strstr(f.rig.steps[1].reason, "revision --help is not in"));
    f.job.git = view_of("/nonexistent/repo");
    check_out(&f, "master", "");
    assert_int_equal(f.rig.steps[1].result, RESULT_FAILURE);
    assert_non_null(strstr(f.rig.steps[1].reason,
                           "the repository cannot be fetched: '/nonexistent/repo' does not"));
    f.job.git = view_of("ext::touch /tmp/tailrace-owned");
    check_out(&f, "master", "");
    assert_int_equal(f.rig.steps[1].result, RESULT_FAILURE);
    assert_false(fs_exists("/tmp/tailrace-owned"));
    f.job.git = view_of("--upload-pack=touch /tmp/tailrace-owned");
    check_out(&f, "master", "");
    assert_int_equal(f.rig.steps[1].result, RESULT_FAILURE);
    assert_false(fs_exists("/tmp/tailrace-owned"));
    close_fixture(&f);
}

static void test_branches_with_odd_names(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    free(rig_sh(&f.rig, "cd repo; git update-ref refs/heads/-b master; "
                        "git update-ref 'refs/heads/a$(id)' master"));
    check_out(&f, "-b", "");
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    assert_string_equal(f.rig.revision, f.second);
    check_out(&f, "a$(id)", "");
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    close_fixture(&f);
}

static void test_submodules(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    free(rig_sh(&f.rig,
                "for r in deep sub; do git init -q -b master $r; cd $r; echo $r > $r.txt; "
                "git add .; git commit -q -m $r; cd ..; done; "
                "cd sub; git -c protocol.file.allow=always submodule --quiet add ../deep deep; "
                "git commit -q -m deep; cd ../repo; "
                "git -c protocol.file.allow=always submodule --quiet add ../sub sub; "
                "git commit -q -m sub"));
    f.steps[1].shell = view_of("ls sub");
    check_out(&f, "master", "");
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    assert_string_equal(rig_log(&f.rig, 2), "");

    f.steps[0].submodules = true;
    f.steps[1].shell = view_of("cat sub/sub.txt sub/deep/deep.txt; echo x > sub/deep/junk; "
                               "echo x > sub/sub.txt; test ! -e sub/junk; echo x > sub/junk");
    check_out(&f, "master", "");
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    f.steps[1].shell = view_of("cat sub/sub.txt sub/deep/deep.txt; ls sub sub/deep");
    check_out(&f, "master", "");
    assert_string_equal(rig_log(&f.rig, 2),
                        "sub\ndeep\nsub:\ndeep\nsub.txt\n\nsub/deep:\ndeep.txt\n");
    close_fixture(&f);
}

static void spoil_and_check_out(struct fixture *f, const char *damage, const char *branch,
                                const char *revision, const char *note)
{
    free(rig_sh(&f->rig, damage));
    check_out(f, branch, revision);
    if (!rig_log_has(&f->rig, 1, note))
        print_message("after %s:\n%s\n", damage, rig_log(&f->rig, 1));
    assert_int_equal(f->rig.result, RESULT_SUCCESS);
    assert_string_equal(f->rig.revision, f->second);
    assert_true(rig_log_has(&f->rig, 1, note));
    assert_true(rig_log_has(&f->rig, 2, "2\nfile\n"));
}

static void test_damage_heals(void **state)
{
    static const char mirror_note[] = "tailrace: the mirror of this repository is damaged";
    static const char tree_note[] = "tailrace: the work tree is damaged";
    struct fixture f;

    (void)state;
    open_fixture(&f);
    check_out(&f, "master", "");
    spoil_and_check_out(
        &f, "find mirrors/*.git/objects -type f | xargs -n1 sh -c 'chmod u+w $0; : > $0'", "master",
        "", mirror_note);
    spoil_and_check_out(
        &f, "find mirrors/*.git/objects -type f | xargs -n1 sh -c 'chmod u+w $0; : > $0'", "master",
        f.second, mirror_note);
    spoil_and_check_out(&f, "rm -f mirrors/*.git/HEAD", "master", f.second, mirror_note);
    spoil_and_check_out(&f, "printf '[core' > $(ls -d mirrors/*.git)/config", "master", f.second,
                        mirror_note);
    spoil_and_check_out(
        &f, "echo junk > work/b/src/.git/index; printf '[core' > work/b/src/.git/config", "master",
        f.second, tree_note);
    spoil_and_check_out(&f, "rm -rf work/b/src/.git; echo old > work/b/src/old", "master", f.second,
                        "checkout");
    spoil_and_check_out(&f,
                        "cd work/b/src/.git; rm -f HEAD index config; "
                        "mkfifo HEAD index config packed-refs refs/heads/p",
                        "master", f.second, tree_note);
    spoil_and_check_out(&f, "rm -rf mirrors", "master", f.second, "fetch");
    /* Locks of a git that was killed are in nobody's way. */
    spoil_and_check_out(&f,
                        ": > work/b/src/.git/index.lock; : > work/b/src/.git/HEAD.lock; "
                        ": > $(ls -d mirrors/*.git)/packed-refs.lock; "
                        "mkdir -p $(ls -d mirrors/*.git)/refs/heads; "
                        ": > $(ls -d mirrors/*.git)/refs/heads/master.lock",
                        "master", "", "fetch");
    assert_false(rig_log_has(&f.rig, 1, "damaged"));
    close_fixture(&f);
}

/* The commit is there, what it holds is not: only the work tree can notice. */
/* What a build sets in its tree's configuration is not the next one's. */
static void test_settings_do_not_stay(void **state)
{
    static const char *const settings[] = {
        "git -C work/b/src config core.worktree $PWD/outside",
        "git -C work/b/src config core.fsmonitor \"touch $PWD/ran; false\"",
        "git -C work/b/src config core.hooksPath $PWD/hooks",
        ("cd work/b/src; git config filter.x.smudge \"touch $OLDPWD/ran; echo spoilt\"; "
         "echo '* filter=x' > .git/info/attributes; rm file"),
        "git -C work/b/src config remote.origin.url file:///elsewhere",
    };
    struct fixture f;

    (void)state;
    open_fixture(&f);
    f.steps[1].shell = view_of("cat file; ls; git remote get-url origin; git rev-parse HEAD");
    free(rig_sh(&f.rig, "mkdir outside hooks; echo kept > outside/kept; "
                        "printf '#!/bin/sh\\ntouch %s/ran\\n' \"$PWD\" > hooks/post-checkout; "
                        "chmod +x hooks/post-checkout"));
    check_out(&f, "master", "");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        free(rig_sh(&f.rig, settings[i]));
        check_out(&f, "master", i % 2 ? f.second : f.first);
        assert_int_equal(f.rig.result, RESULT_SUCCESS);
        assert_true(rig_log_has(&f.rig, 2, i % 2 ? "2\nfile\n" : "1\nfile\ngone\n"));
        assert_true(rig_log_has(&f.rig, 2, f.url));
        assert_false(rig_log_has(&f.rig, 1, "damaged"));
        free(rig_sh(&f.rig, "test ! -e ran && test \"$(ls outside)\" = kept"));
    }
    close_fixture(&f);
}

static void test_missing_contents_heal(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    check_out(&f, "master", "");
    free(rig_sh(&f.rig, "rm -rf work/b; cd mirrors/*.git; b=$(git rev-parse master:file); "
                        "rm objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)"));
    check_out(&f, "master", f.second);
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    assert_true(rig_log_has(&f.rig, 1, "the mirror of this repository is damaged"));
    close_fixture(&f);
}

static void test_another_repository_in_the_same_folder(void **state)
{
    struct fixture f;
    char *other;

    (void)state;
    open_fixture(&f);
    check_out(&f, "master", "");
    free(rig_sh(&f.rig, "git clone -q --bare repo other.git; git clone -q other.git o; cd o; "
                        "echo o > file; git commit -q -a -m o; git push -q origin HEAD:master"));
    other = rig_path(&f.rig, "other.git");
    f.job.git = view_of(other);
    check_out(&f, "master", "");
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    assert_false(rig_log_has(&f.rig, 1, "damaged"));
    assert_true(rig_log_has(&f.rig, 2, "o\n"));
    free(other);
    close_fixture(&f);
}

static void test_a_repository_of_another_user(void **state)
{
    struct fixture f;

    (void)state;
    if (geteuid() != 0)
        skip();
    open_fixture(&f);
    free(rig_sh(&f.rig, "chown -R 65534:65534 repo"));
    check_out(&f, "master", "");
    assert_int_equal(f.rig.result, RESULT_SUCCESS);
    close_fixture(&f);
}

/* Somebody else holds the mirror for a while. */
static void test_one_at_a_time_uses_a_mirror(void **state)
{
    struct fixture f;
    struct err err = ERR_INIT;
    char *mirrors;
    char *mirror;
    char *lock;
    int fd;

    (void)state;
    open_fixture(&f);
    check_out(&f, "master", "");
    mirrors = rig_path(&f.rig, "mirrors");
    mirror = gitfiles_mirror(mirrors, f.url);
    lock = xasprintf("%s.lock", mirror);
    assert_int_equal(fs_lock(lock, &fd, &err), ERR_OK);
    rig_start(&f.rig, &f.job);
    rig_until_log(&f.rig, 1, "another build uses the mirror");
    assert_false(rig_log_has(&f.rig, 1, "$ git"));
    (void)close(fd);
    rig_finish(&f.rig);
    assert_int_equal(f.rig.result, RESULT_SUCCESS);

    /* Waiting has its limit too. */
    assert_int_equal(fs_lock(lock, &fd, &err), ERR_OK);
    f.steps[0].timeout_ms = 60 * 1000;
    f.steps[0].timeout_ms = 250;
    rig_run(&f.rig, &f.job);
    assert_string_equal(f.rig.steps[1].reason, "checkout limit: not done after 250 ms");
    (void)close(fd);
    free(lock);
    free(mirror);
    free(mirrors);
    close_fixture(&f);
}

static void test_passwords_are_not_shown(void **state)
{
    static const struct {
        const char *url, *shown;
    } urls[] = {
        {"https://user:secret@example.org/a.git", "https://***@example.org/a.git"},
        {"https://token@example.org/a.git", "https://***@example.org/a.git"},
        {"ssh://git@example.org/a.git", "ssh://git@example.org/a.git"},
        {"ssh://git:pw@example.org/a.git", "ssh://***@example.org/a.git"},
        {"https://example.org/a@b.git", "https://example.org/a@b.git"},
        {"git@example.org:a.git", "git@example.org:a.git"},
        {"/srv/a.git", "/srv/a.git"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof urls / sizeof *urls; i++) {
        char *shown = gitfiles_show_url(urls[i].url);

        assert_string_equal(shown, urls[i].shown);
        free(shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tip_then_exact_revisions),
        cmocka_unit_test(test_new_commits_are_fetched),
        cmocka_unit_test(test_clean_tree_or_kept),
        cmocka_unit_test(test_force_push),
        cmocka_unit_test(test_deleted_branch_makes_way),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_branches_with_odd_names),
        cmocka_unit_test(test_submodules),
        cmocka_unit_test(test_damage_heals),
        cmocka_unit_test(test_settings_do_not_stay),
        cmocka_unit_test(test_missing_contents_heal),
        cmocka_unit_test(test_another_repository_in_the_same_folder),
        cmocka_unit_test(test_a_repository_of_another_user),
        cmocka_unit_test(test_one_at_a_time_uses_a_mirror),
        cmocka_unit_test(test_passwords_are_not_shown),
    };

    return cmocka_run_group_tests_name("slave/runner_checkout", tests, NULL, NULL);
}
