// One builder: what it runs, its builds, and asking for one.

import { newKey } from '../api.js';
import { duration } from '../format.js';
import { branchesOf, withListed } from '../grid.js';
import { h } from '../h.js';
import { button, buildsTable, loaded } from '../pieces.js';
import { buildPath, builderPath } from '../route.js';

const PAGE = 50;
const PRIORITIES = ['high', 'normal', 'low']; // the first is what the master takes for a forced build, too

export function builderPage(app, route) {
    const state = { data: null, error: null, sending: false };
    const list = `/builds?builder=${encodeURIComponent(route.name)}` + (route.branch ? `&branch=${encodeURIComponent(route.branch)}` : '') + `&limit=${PAGE}`;

    async function load() {
        try {
            const [builder, builds] = await Promise.all([app.api.get(`/builders/${encodeURIComponent(route.name)}`), app.api.get(list)]);
            state.data = { builder, builds: builds.builds, next: builds.next };
            state.error = null;
        } catch (error) {
            state.error = error;
        }
        app.draw();
    }

    async function more() {
        const older = await app.act(() => app.api.get(`${list}&before=${encodeURIComponent(state.data.next)}`));
        if (older)
            state.data = { ...state.data, builds: [...state.data.builds, ...older.builds], next: older.next };
        app.draw();
    }

    function onEvent(name, data) {
        if (name === 'config')
            load();
        if (name === 'build' && state.data && data.builder === route.name && (!route.branch || data.branch === route.branch)) {
            const limit = Math.max(PAGE, state.data.builds.length + 1);
            state.data = { ...state.data, builds: withListed(state.data.builds, data, limit) };
        }
    }

    async function force(event) {
        event.preventDefault();
        const fields = Object.fromEntries([...new FormData(event.target)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value !== ''));
        if (state.sending)
            return;
        state.sending = true;
        app.draw();
        const build = await app.act(() => app.api.post('/force', { builder: route.name, ...fields }, { key: newKey() }));
        state.sending = false;
        app.draw();
        if (build)
            app.go(buildPath(build.id));
    }

    return {
        title: route.name,
        events: `builder=${encodeURIComponent(route.name)}`,
        load,
        onEvent,
        view: () => [
            h('h1', null, route.name, route.branch && h('small', null, ` on ${route.branch}`)),
            loaded(state, (data) => builderView(data, route, { force, more, sending: state.sending }, app.now())),
        ],
    };
}

export function builderView({ builder, builds, next }, route, actions, nowMs) {
    const empty = route.branch ? 'Nothing has been built on this branch yet.' : 'Nothing has been built yet.';
    return [
        h('div', { class: 'columns', key: 'facts' }, facts(builder), forceForm(builder, route, actions)),
        h('section', { key: 'builds' },
            h('h2', null, 'Builds'),
            branchFilter(builder, route),
            buildsTable(`Builds of ${builder.name}`, builds, nowMs, empty),
            next !== null && next !== undefined && h('p', null, button('Show older', actions.more))),
    ];
}

function facts(builder) {
    const rows = [
        ['Project', builder.project],
        ['Pool', builder.pool],
        ['Priority', builder.priority],
        ['Branches', (builder.branches ?? []).join(', ')],
        ['After', [builder.after ?? []].flat().join(', ')],
        ['Usually takes', duration(builder.expected_s)],
        ['Running at once', builder.max_running ? `at most ${builder.max_running}` : ''],
    ].filter(([, value]) => value);
    return h('section', null,
        h('h2', null, 'What it runs'),
        h('dl', null, rows.map(([name, value]) => [h('dt', null, name), h('dd', null, value)])),
        h('ol', { class: 'plan' }, (builder.steps ?? []).map((step) => h('li', null, step.name, step.kind && step.kind !== step.name ? h('small', null, ` ${step.kind}`) : null))));
}

function forceForm(builder, route, { force, sending }) {
    const branches = branchesOf([builder]);
    return h('section', null,
        h('h2', null, 'Force a build'),
        h('form', { class: 'force', onsubmit: force },
            h('label', null, 'Branch', h('input', { name: 'branch', value: route.branch ?? branches[0] ?? '', list: 'branches', autocomplete: 'off' })),
            h('datalist', { id: 'branches' }, branches.map((branch) => h('option', { value: branch }))),
            h('label', null, 'Revision', h('input', { name: 'revision', placeholder: 'the tip when it starts', autocomplete: 'off' })),
            h('label', null, 'Priority', h('select', { name: 'priority' }, PRIORITIES.map((priority) => h('option', { value: priority }, priority)))),
            h('label', null, 'Reason', h('input', { name: 'reason', autocomplete: 'off' })),
            h('button', { type: 'submit', class: 'primary', disabled: sending }, sending ? 'Asking…' : 'Force')));
}

function branchFilter(builder, route) {
    const seen = branchesOf([builder]);
    if (seen.length < 2 && !route.branch)
        return null;
    const link = (branch, label) => h('a', { href: builderPath(builder.name, branch), 'aria-current': route.branch === branch ? 'page' : null }, label);
    return h('p', { class: 'choices' }, link(null, 'all branches'), seen.map((branch) => link(branch, branch)));
}
