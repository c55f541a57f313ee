// Makes an element hold what a description (h.js) says, changing only what differs. Data becomes text
// nodes and attributes, never markup.

const described = new WeakMap(); // DOM node -> the description it was last given

export function patch(parent, children) {
    const keyed = keyedNodes(parent);
    const wanted = new Set(children.map((child) => child.attributes?.key));
    let at = parent.firstChild;
    for (const child of children) {
        const kept = keyed.get(child.attributes?.key);
        // An element that is moved loses focus and scroll position: rather remove what stands before it.
        while (kept && at && at !== kept && !(keyOf(at) !== undefined && wanted.has(keyOf(at))))
            at = remove(parent, at);
        const node = reuse(child, at, kept) ?? create(parent.ownerDocument, child);
        if (node === at)
            at = at.nextSibling;
        else
            parent.insertBefore(node, at);
        update(node, child);
    }
    while (at)
        at = remove(parent, at);
}

function keyOf(node) {
    return described.get(node)?.attributes?.key;
}

function keyedNodes(parent) {
    const keyed = new Map();
    for (const node of parent.childNodes)
        if (keyOf(node) !== undefined)
            keyed.set(keyOf(node), node);
    return keyed;
}

// Returns the node that followed.
function remove(parent, node) {
    const next = node.nextSibling;
    parent.removeChild(node);
    return next;
}

// The node that can become the child, or null: the kept one of the same key, else the one that stands there.
function reuse(child, at, kept) {
    if (child.element)
        return child.element;
    const key = child.attributes?.key;
    const node = key === undefined ? at : kept;
    const old = node && described.get(node);
    if (!node || old === undefined || typeof old !== typeof child || old.tag !== child.tag)
        return null;
    return old.attributes?.key === key ? node : null;
}

function create(document, child) {
    const node = typeof child === 'string' ? document.createTextNode(child) : document.createElement(child.tag);
    described.set(node, typeof child === 'string' ? child : { tag: child.tag, attributes: {}, children: [] });
    return node;
}

function update(node, child) {
    if (child.element)
        return;
    const old = described.get(node);
    described.set(node, child);
    if (typeof child === 'string') {
        if (old !== child)
            node.data = child;
        return;
    }
    updateAttributes(node, old.attributes, child.attributes);
    patch(node, child.children);
}

function updateAttributes(node, old, now) {
    for (const name of Object.keys(old))
        if (!(name in now))
            setAttribute(node, name, null);
    for (const [name, value] of Object.entries(now))
        if (value !== old[name])
            setAttribute(node, name, value);
}

function setAttribute(node, name, value) {
    if (name === 'key')
        return;
    if (name.startsWith('on'))
        node[name] = value ?? null;
    else if (value === null || value === undefined || value === false)
        node.removeAttribute(name);
    else
        node.setAttribute(name, value === true ? '' : String(value));
}
