// Times that move: elements with data-since, data-expected or data-ago are kept current once a second,
// without drawing the page anew.

import { progress, relative } from './format.js';

export function startTicker(root, now) {
    setInterval(() => tick(root, now()), 1000);
}

export function tick(root, nowMs) {
    for (const element of root.querySelectorAll('[data-ago]'))
        setText(element, relative(element.dataset.ago, nowMs));
    for (const element of root.querySelectorAll('[data-since]')) {
        const { since, expected } = element.dataset;
        const { fraction, text } = progress({ started_at: since, expected_s: Number(expected) || null }, nowMs);
        if (element.tagName === 'PROGRESS')
            element.value = fraction ?? 0;
        else
            setText(element, text);
    }
}

function setText(element, text) {
    const node = element.firstChild;
    if (node && node.data !== text)
        node.data = text;
}
