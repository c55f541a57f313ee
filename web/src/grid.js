// Builders by branch: what the home page shows. Pure.

// [{project, branches, rows: [{builder, cells}]}]; cells[i] is the newest build on branches[i], or null.
// Only rows whose builder, or project, holds the filter's text.
export function gridOf(builders, filter = '') {
    const wanted = filter.trim().toLowerCase();
    const projects = new Map();
    for (const builder of builders) {
        if (!`${builder.project} ${builder.name}`.toLowerCase().includes(wanted))
            continue;
        if (!projects.has(builder.project))
            projects.set(builder.project, []);
        projects.get(builder.project).push(builder);
    }
    return [...projects].map(([project, members]) => {
        const branches = branchesOf(members);
        const rows = members.map((builder) => ({ builder, cells: branches.map((branch) => newestOn(builder, branch)) }));
        return { project, branches, rows };
    });
}

// The branches of these builders: configured ones in their order, then those that only builds know.
export function branchesOf(builders) {
    const configured = builders.flatMap((builder) => builder.branches ?? []).filter((branch) => !isPattern(branch));
    const seen = builders.flatMap((builder) => (builder.last ?? []).map((build) => build.branch));
    return [...new Set([...configured, ...seen])].filter((branch) => branch !== null);
}

function isPattern(branch) {
    return /[*?[\]{}!]/.test(branch);
}

function newestOn(builder, branch) {
    return (builder.last ?? []).find((build) => build.branch === branch) ?? null;
}

// The builders with a build that has changed put in its place, unless a newer one stands there.
export function withBuild(builders, build) {
    return builders.map((builder) => {
        if (builder.name !== build.builder)
            return builder;
        const others = (builder.last ?? []).filter((old) => old.branch !== build.branch);
        const old = newestOn(builder, build.branch);
        return old && old.id > build.id ? builder : { ...builder, last: [...others, { ...build, steps: null }] };
    });
}

// A list of builds, newest first, with one that is new or has changed.
export function withListed(builds, build, limit) {
    const rest = builds.filter((old) => old.id !== build.id);
    return [build, ...rest].sort((a, b) => b.id - a.id).slice(0, limit);
}

// The same for things with a name, in the order they have.
export function withNamed(things, thing) {
    const known = things.some((old) => old.name === thing.name);
    return known ? things.map((old) => (old.name === thing.name ? { ...old, ...thing } : old)) : [...things, thing];
}
