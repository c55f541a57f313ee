// What the page of a build shows beside the build itself: its set, its change, its slave while that is out of
// touch, and its benchmark points. What cannot be read is left out.

const CHANGES_LOOKED_AT = 20;
const POINTS_AT_ONCE = 1000;
const POINTS_MAX = 20000;

// Promise of {set, change, slave, points}; before: what was known of the same build and attempt, or {}.
export async function readExtras(api, build, attempt, before = {}) {
    const [set, change, slave, points] = await Promise.all([
        build.set ? quiet(api.get(`/sets/${build.set}`)) : null,
        before.change !== undefined ? before.change : quiet(readChange(api, build)),
        build.state === 'detached' && build.slave ? quiet(api.get(`/slaves/${encodeURIComponent(build.slave)}`)) : null,
        hasBenchmark(build) && attempt ? quiet(readPoints(api, build.id, attempt)) : [],
    ]);
    return { set: set ?? before.set ?? null, change, slave, points: points ?? before.points ?? [] };
}

export function hasBenchmark(build) {
    return (build.steps ?? []).some((step) => step.kind === 'benchmark');
}

// The change that made the build's set, if it is one of the branch's newest.
async function readChange(api, { set, project, branch }) {
    if (!set || !branch)
        return null;
    const query = `project=${encodeURIComponent(project)}&branch=${encodeURIComponent(branch)}&limit=${CHANGES_LOOKED_AT}`;
    const { changes } = await api.get(`/changes?${query}`);
    return changes.find((change) => change.set === set) ?? null;
}

async function readPoints(api, id, attempt) {
    const points = [];
    let next = null;
    do {
        const page = await api.get(`/builds/${id}/points?attempt=${attempt}&limit=${POINTS_AT_ONCE}` + (next ? `&before=${encodeURIComponent(next)}` : ''));
        points.push(...page.points);
        next = page.next ?? null;
    } while (next !== null && points.length < POINTS_MAX);
    return points;
}

async function quiet(promise) {
    try {
        return await promise;
    } catch {
        return null;
    }
}
