/*
 * Runs a fuzz target over the files of the folders and files named as arguments, so that its corpus
 * is a regression test in every build. Exits 1 when there was nothing to run.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    uint8_t *data;
    size_t n;

    if (!f)
        return 0;
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)fclose(f);
        return 0;
    }
    /* Exactly as large as the input, so that reading past its end is seen. */
    data = malloc(st.st_size > 0 ? (size_t)st.st_size : 1);
    if (!data)
        abort();
    n = fread(data, 1, (size_t)st.st_size, f);
    (void)fclose(f);
    (void)LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 1;
}

static int run_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char file[4096];
    int n = 0;

    if (!dir)
        return run_file(path);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(file, sizeof file, "%s/%s", path, entry->d_name) < (int)sizeof file)
            n += run_file(file);
    }
    (void)closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    int n = 0;

    for (int i = 1; i < argc; i++)
        n += run_folder(argv[i]);
    (void)printf("%d inputs\n", n);
    return n > 0 ? 0 : 1;
}
