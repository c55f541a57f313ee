// The pages' addresses. Pure. Every address that is given out here works for ever.

// What an address (path, query and fragment) asks for: {page, ...}; page is 'missing' for one that is not ours.
export function parseRoute(url) {
    const { pathname, searchParams, hash } = new URL(url, 'http://host/');
    const parts = pathname.split('/').filter((part) => part !== '').map(decode);
    const [page, name, below, step] = parts;

    if (parts.length === 0)
        return { page: 'home' };
    if (parts.length === 1 && page === 'queue')
        return { page };
    if (parts.length === 1 && page === 'slaves')
        return { page, name: hash ? decode(hash.slice(1)) : null };
    if (parts.length === 2 && page === 'builders')
        return { page: 'builder', name, branch: searchParams.get('branch') };
    if (page === 'builds' && isNumber(name) && parts.length === 2)
        return { page: 'build', build: Number(name), step: null, attempt: null, stream: null, line: null };
    if (page === 'builds' && isNumber(name) && below === 'steps' && isNumber(step) && parts.length === 4)
        return {
            page: 'build',
            build: Number(name),
            step: Number(step),
            attempt: isNumber(searchParams.get('attempt')) ? Number(searchParams.get('attempt')) : null,
            stream: searchParams.get('stream') === 'stderr' ? 'stderr' : null,
            line: parseLine(hash),
        };
    return { page: 'missing' };
}

// The line that a fragment such as #L4711 names, or null.
export function parseLine(hash) {
    const match = /^#L([1-9]\d{0,11})$/.exec(hash);
    return match ? Number(match[1]) : null;
}

export function buildPath(id) {
    return `/builds/${id}`;
}

export function stepPath(build, step, { attempt = null, stream = null, line = null } = {}) {
    const query = [attempt && `attempt=${attempt}`, stream && `stream=${stream}`].filter(Boolean).join('&');
    return `/builds/${build}/steps/${step}` + (query ? `?${query}` : '') + (line ? `#L${line}` : '');
}

export function slavePath(name) {
    return `/slaves#${encodeURIComponent(name)}`;
}

export function builderPath(name, branch = null) {
    return `/builders/${encodeURIComponent(name)}` + (branch ? `?branch=${encodeURIComponent(branch)}` : '');
}

function isNumber(text) {
    return /^[1-9]\d{0,14}$/.test(text ?? '');
}

function decode(part) {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}
