// Durations, times and sizes for people. Pure.

export function duration(seconds) {
    if (seconds === null || seconds === undefined || Number.isNaN(seconds))
        return '';
    const s = Math.max(0, seconds);
    if (s < 9.95)
        return `${s.toFixed(1)} s`;
    const whole = Math.round(s);
    if (whole < 60)
        return `${whole} s`;
    if (whole < 3600)
        return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
    if (whole < 86400)
        return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} min`;
    return `${Math.floor(whole / 86400)} d ${Math.floor(whole / 3600) % 24} h`;
}

// Seconds between two of the API's times, or null when one is absent.
export function secondsBetween(from, to) {
    return from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null;
}

// 'just now', '5 min ago', 'in 2 h'; nowMs as Date.now() counts.
export function relative(time, nowMs) {
    if (!time)
        return '';
    const seconds = (nowMs - Date.parse(time)) / 1000;
    const text = coarse(Math.abs(seconds));
    if (text === null)
        return 'just now';
    return seconds < 0 ? `in ${text}` : `${text} ago`;
}

// '2026-01-02 03:04:05 UTC', or '' for none.
export function absolute(time) {
    return time ? `${time.slice(0, 10)} ${time.slice(11, 19)} UTC` : '';
}

function coarse(seconds) {
    if (seconds < 5)
        return null;
    if (seconds < 60)
        return `${Math.floor(seconds)} s`;
    if (seconds < 3600)
        return `${Math.floor(seconds / 60)} min`;
    if (seconds < 86400)
        return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} d`;
}

export function bytes(n) {
    const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
    let unit = 0;
    let value = n;
    while (value >= 1000 && unit < units.length - 1) {
        value /= 1000;
        unit++;
    }
    return unit === 0 ? `${n} ${n === 1 ? 'byte' : 'bytes'}` : `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

export function count(n, noun) {
    return `${grouped(n)} ${noun}${n === 1 ? '' : 's'}`;
}

// 12345 as 12,345
export function grouped(n) {
    return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}

// A revision as short as people write it; names that are no hash stay whole.
export function revision(text) {
    return text && /^[0-9a-f]{16,}$/.test(text) ? text.slice(0, 10) : (text ?? '');
}

// How far a build is: {fraction (null: unknown), text}.
export function progress({ started_at, expected_s }, nowMs) {
    const elapsed = started_at ? Math.max(0, (nowMs - Date.parse(started_at)) / 1000) : 0;
    if (!expected_s)
        return { fraction: null, text: duration(elapsed) };
    const left = expected_s - elapsed;
    return {
        fraction: Math.min(0.99, elapsed / expected_s),
        text: left >= 0 ? `${duration(elapsed)}, ${duration(left)} left` : `${duration(elapsed)}, ${duration(-left)} over`,
    };
}

function two(n) {
    return String(n).padStart(2, '0');
}
