// Text styles of ANSI "select graphic rendition" sequences (ESC [ ... m), and how they look in HTML.
// Pure. A style is a frozen object; equal styles need not be the same object.

const BOLD = 1;
const DIM = 2;
const ITALIC = 4;
const UNDERLINE = 8;
const INVERSE = 16;
const CONCEAL = 32;
const STRIKE = 64;

const FLAG_CLASSES = [
    [BOLD, 'bold'],
    [DIM, 'dim'],
    [ITALIC, 'italic'],
    [UNDERLINE, 'underline'],
    [CONCEAL, 'conceal'],
    [STRIKE, 'strike'],
];

const FLAG_ON = { 1: BOLD, 2: DIM, 3: ITALIC, 4: UNDERLINE, 7: INVERSE, 8: CONCEAL, 9: STRIKE, 21: UNDERLINE };
const FLAG_OFF = { 22: BOLD | DIM, 23: ITALIC, 24: UNDERLINE, 27: INVERSE, 28: CONCEAL, 29: STRIKE };

// fg and bg: null (the page's own), 0 to 15 (the theme's palette), or '#rrggbb'.
export const PLAIN = Object.freeze({ fg: null, bg: null, flags: 0 });

export function sameStyle(a, b) {
    return a === b || (a.fg === b.fg && a.bg === b.bg && a.flags === b.flags);
}

// The style after ESC [ params m; params is the text between. What it does not know it leaves out.
export function applySgr(style, params) {
    const next = { fg: style.fg, bg: style.bg, flags: style.flags };
    const items = params.split(';');
    for (let i = 0; i < items.length; i++) {
        const parts = items[i].split(':').map(number);
        const code = parts[0];
        if (code === 38 || code === 48) {
            const [color, used] = extendedColor(parts, items, i);
            if (color !== undefined)
                next[code === 38 ? 'fg' : 'bg'] = color;
            i += used;
        } else {
            applyCode(next, code, parts);
        }
    }
    return isPlain(next) ? PLAIN : Object.freeze(next);
}

// What a span of this style needs: class names, and colours beyond the palette (else null).
export function styleLook(style) {
    let { fg, bg } = style;
    if (style.flags & INVERSE)
        [fg, bg] = [bg ?? 'back', fg ?? 'fore'];
    const classes = FLAG_CLASSES.filter(([flag]) => style.flags & flag).map(([, name]) => name);
    const colors = { fg: null, bg: null };
    for (const [key, value] of [['fg', fg], ['bg', bg]]) {
        if (typeof value === 'string' && value.startsWith('#'))
            colors[key] = value;
        else if (value !== null)
            classes.push(`${key}-${value}`);
    }
    return { classes, color: colors.fg, background: colors.bg };
}

function number(text) {
    return /^\d{1,6}$/.test(text) ? Number(text) : 0;
}

function isPlain(style) {
    return style.fg === null && style.bg === null && style.flags === 0;
}

function applyCode(style, code, parts) {
    if (code === 0)
        Object.assign(style, PLAIN);
    else if (code === 4 && parts[1] === 0 && parts.length > 1)
        style.flags &= ~UNDERLINE;
    else if (code in FLAG_ON)
        style.flags |= FLAG_ON[code];
    else if (code in FLAG_OFF)
        style.flags &= ~FLAG_OFF[code];
    else if (code >= 30 && code <= 37)
        style.fg = code - 30;
    else if (code >= 40 && code <= 47)
        style.bg = code - 40;
    else if (code >= 90 && code <= 97)
        style.fg = code - 90 + 8;
    else if (code >= 100 && code <= 107)
        style.bg = code - 100 + 8;
    else if (code === 39)
        style.fg = null;
    else if (code === 49)
        style.bg = null;
}

// [colour or undefined, how many further items were used]. Both spellings are in use:
// 38;5;N and 38;2;R;G;B as separate items, 38:5:N and 38:2:SPACE:R:G:B (SPACE often left out) as one.
function extendedColor(parts, items, i) {
    if (parts.length > 1) {
        const rest = parts[1] === 2 && parts.length > 5 ? [2, ...parts.slice(3)] : parts.slice(1);
        return [colorOf(rest), 0];
    }
    const rest = items.slice(i + 1, i + 5).map(number);
    const used = rest[0] === 5 ? 2 : rest[0] === 2 ? 4 : 1;
    return [colorOf(rest), used];
}

function colorOf([kind, a, b, c]) {
    if (kind === 5 && a <= 255)
        return a < 16 ? a : indexedColor(a);
    if (kind === 2 && Math.max(a, b, c) <= 255)
        return hex(a, b, c);
    return undefined;
}

// Colours 16 to 231 are a cube of six levels, 232 to 255 a ramp of greys.
function indexedColor(index) {
    if (index >= 232) {
        const grey = 8 + 10 * (index - 232);
        return hex(grey, grey, grey);
    }
    const level = (n) => (n === 0 ? 0 : 55 + 40 * n);
    const cube = index - 16;
    return hex(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

function hex(...channels) {
    return '#' + channels.map((n) => n.toString(16).padStart(2, '0')).join('');
}
