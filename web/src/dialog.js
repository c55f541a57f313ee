// One question to the person, in a dialog. Promise of the answer, or of null when it was closed without one.

import { h } from './h.js';
import { patch } from './patch.js';

export function ask({ title, text, label, type = 'text', action, required = false }) {
    const dialog = document.createElement('dialog');
    return new Promise((resolve) => {
        let answer = null;
        const submit = (event) => {
            event.preventDefault();
            answer = dialog.querySelector('input').value.trim();
            dialog.close();
        };
        patch(dialog, [
            h('form', { onsubmit: submit },
                h('h2', null, title),
                text && h('p', null, text),
                h('label', null, label, h('input', { type, required, autocomplete: 'off', autofocus: true })),
                h('div', { class: 'actions' },
                    h('button', { type: 'button', onclick: () => dialog.close() }, 'Close'),
                    h('button', { type: 'submit', class: 'primary' }, action))),
        ]);
        dialog.addEventListener('close', () => {
            dialog.remove();
            resolve(answer);
        });
        document.body.append(dialog);
        dialog.showModal();
    });
}
