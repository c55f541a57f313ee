// Descriptions of what a page should hold, as plain data. Pure; patch.js makes them real.
//
// A node is a string (text), or {tag, attributes, children}, or {element}: an element made elsewhere that is
// only put in its place. Attributes: text or numbers as in HTML, true for one without a value, null or
// false to leave it out, a function for on... (onclick, onsubmit). `key` tells siblings apart, so that a row
// keeps its element, and with it focus and selection, when rows are added or moved.

export function h(tag, attributes, ...children) {
    return { tag, attributes: attributes ?? {}, children: flat(children) };
}

export function mounted(element) {
    return { element };
}

// All the text of a node, for tests and labels.
export function textOf(node) {
    if (typeof node === 'string')
        return node;
    return (node.children ?? []).map(textOf).join('');
}

function flat(children) {
    return children
        .flat(Infinity)
        .filter((child) => child !== null && child !== undefined && child !== false)
        .map((child) => (typeof child === 'number' ? String(child) : child));
}
