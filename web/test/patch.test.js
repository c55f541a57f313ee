import assert from 'node:assert/strict';
import { test } from 'node:test';
import { h, mounted } from '../src/h.js';
import { patch } from '../src/patch.js';

// As much of a document as patch.js uses.
class Node {
    constructor(document) {
        this.ownerDocument = document;
        this.parentNode = null;
    }

    get nextSibling() {
        return this.parentNode.childNodes[this.parentNode.childNodes.indexOf(this) + 1] ?? null;
    }
}

class Text extends Node {}

class Element extends Node {
    constructor(document, tag) {
        super(document);
        this.tag = tag;
        this.childNodes = [];
        this.attributes = {};
        this.moves = 0;
    }

    get firstChild() {
        return this.childNodes[0] ?? null;
    }

    insertBefore(node, before) {
        if (node.parentNode)
            node.parentNode.removeChild(node);
        node.moves = (node.moves ?? 0) + 1;
        this.childNodes.splice(before ? this.childNodes.indexOf(before) : this.childNodes.length, 0, node);
        node.parentNode = this;
    }

    removeChild(node) {
        this.childNodes.splice(this.childNodes.indexOf(node), 1);
        node.parentNode = null;
    }

    setAttribute(name, value) {
        this.attributes[name] = value;
    }

    removeAttribute(name) {
        delete this.attributes[name];
    }

    text() {
        return this.childNodes.map((node) => node.data ?? `<${node.tag}>${node.text()}`).join('');
    }
}

const document = {
    createElement: (tag) => new Element(document, tag),
    createTextNode: (data) => Object.assign(new Text(document), { data }),
};

function root() {
    return document.createElement('main');
}

test('makes what is described, text only as text', () => {
    const main = root();
    patch(main, [h('p', { class: 'a', hidden: true, title: null }, 'one ', h('b', null, '<i>two</i>'), null, false, 3)]);
    assert.equal(main.text(), '<p>one <b><i>two</i>3');
    assert.equal(main.firstChild.childNodes[1].firstChild.data, '<i>two</i>');
    assert.deepEqual(main.firstChild.attributes, { class: 'a', hidden: '' });
});

test('changes only what differs', () => {
    const main = root();
    patch(main, [h('p', { class: 'a', id: 'x' }, 'one'), 'text']);
    const [paragraph, text] = main.childNodes;
    patch(main, [h('p', { class: 'b' }, 'two'), 'other', h('hr')]);
    assert.equal(main.childNodes[0], paragraph);
    assert.equal(main.childNodes[1], text);
    assert.deepEqual(paragraph.attributes, { class: 'b' });
    assert.equal(main.text(), '<p>twoother<hr>');
    patch(main, [h('div', null, 'three')]);
    assert.equal(main.text(), '<div>three');
});

test('handlers are properties, and are taken away again', () => {
    const main = root();
    const onclick = () => {};
    patch(main, [h('button', { onclick })]);
    assert.equal(main.firstChild.onclick, onclick);
    assert.deepEqual(main.firstChild.attributes, {});
    patch(main, [h('button', {})]);
    assert.equal(main.firstChild.onclick, null);
});

test('rows with a key keep their element, and do not move when others come or go', () => {
    const main = root();
    const rows = (...keys) => keys.map((key) => h('tr', { key }, String(key)));
    patch(main, rows(1, 2, 3));
    const two = main.childNodes[1];
    patch(main, rows(2, 3));
    assert.equal(main.childNodes[0], two);
    patch(main, rows(5, 4, 2, 3));
    assert.equal(main.childNodes[2], two);
    assert.equal(two.moves, 1);
    patch(main, rows(3, 2, 5));
    assert.equal(main.text(), '<tr>3<tr>2<tr>5');
    assert.ok(main.childNodes.includes(two));
});

test('an element made elsewhere stays where it is', () => {
    const main = root();
    const log = document.createElement('div');
    const view = (...before) => [...before, h('section', { key: 'log' }, mounted(log))];
    patch(main, view(h('p', null, 'waiting')));
    const section = main.childNodes[1];
    patch(main, view());
    assert.equal(main.firstChild, section);
    patch(main, view(h('p', null, 'a'), h('p', null, 'b')));
    assert.equal(section.firstChild, log);
    assert.equal(section.moves, 1);
    assert.equal(log.moves, 1);
});
