// Where in a scrolled box the lines of a log stand. Pure.
//
// Browsers limit how tall an element may be (some 17 million pixels). A log taller than MAX_HEIGHT is
// scaled: the scroll bar covers all of it, and one pixel of it stands for more than one pixel of the log.

export const MAX_HEIGHT = 8_000_000;

// total: lines; lineHeight and viewport: pixels.
export function scrollGeometry({ total, lineHeight, viewport }) {
    const full = total * lineHeight;
    return {
        lineHeight,
        viewport,
        height: Math.min(full, MAX_HEIGHT),
        scaled: full > MAX_HEIGHT,
        maxTop: Math.max(0, total - viewport / lineHeight), // the furthest first line, counted from 0, may be a fraction
    };
}

// The line at the top edge (from 0, a fraction when it is partly hidden) for a scroll position.
export function topFromScroll(geometry, scrollTop) {
    const range = geometry.height - geometry.viewport;
    if (range <= 0)
        return 0;
    const top = geometry.scaled ? (scrollTop / range) * geometry.maxTop : scrollTop / geometry.lineHeight;
    return clampTop(geometry, top);
}

// The scroll position that shows this line at the top edge.
export function scrollFromTop(geometry, top) {
    const range = geometry.height - geometry.viewport;
    if (range <= 0)
        return 0;
    const wanted = clampTop(geometry, top);
    return geometry.scaled ? (wanted / geometry.maxTop) * range : wanted * geometry.lineHeight;
}

export function clampTop(geometry, top) {
    return Math.max(0, Math.min(top, geometry.maxTop));
}

// Numbers (from 1) of the first and last line to have in the page, `spare` more on either side.
export function linesInView(geometry, top, total, spare) {
    const count = Math.ceil(geometry.viewport / geometry.lineHeight) + 1;
    const first = Math.max(1, Math.floor(top) + 1 - spare);
    const last = Math.min(total, Math.floor(top) + count + spare);
    return [first, last];
}
