// Builders by branch with their newest builds, and the newest builds of all.

import { duration, progress, revision } from '../format.js';
import { gridOf, withBuild, withListed } from '../grid.js';
import { h, textOf } from '../h.js';
import { ago, badge, bar, buildsTable, loaded, statusOf, took } from '../pieces.js';
import { buildPath, builderPath } from '../route.js';

const LISTED = 20;
const FILTER_FROM = 8; // builders before a filter is worth its place

export function homePage(app) {
    const state = { data: null, error: null, filter: '' };

    async function load() {
        try {
            const [builders, builds] = await Promise.all([app.api.get('/builders'), app.api.get(`/builds?limit=${LISTED}`)]);
            state.data = { builders: builders.builders, builds: builds.builds };
            state.error = null;
        } catch (error) {
            state.error = error;
        }
        app.draw();
    }

    function onEvent(name, data) {
        if (name === 'config')
            load();
        if (name !== 'build' || !state.data)
            return;
        state.data = {
            builders: withBuild(state.data.builders, data),
            builds: withListed(state.data.builds, data, LISTED),
        };
    }

    const setFilter = (event) => {
        state.filter = event.target.value;
        app.draw();
    };

    return {
        title: '',
        load,
        onEvent,
        view: () => [h('h1', { class: 'hidden' }, 'Builders'), loaded(state, (data) => homeView(data, state.filter, setFilter, app.now()))],
    };
}

export function homeView({ builders, builds }, filter, setFilter, nowMs) {
    const projects = gridOf(builders, filter);
    return [
        builders.length >= FILTER_FROM &&
            h('label', { class: 'filter' }, 'Filter builders ', h('input', { type: 'search', oninput: setFilter })),
        projects.length === 0 && h('p', { class: 'empty' }, builders.length ? 'No builder has that in its name.' : 'No builder is configured.'),
        projects.map((project) => projectView(project, nowMs)),
        h('section', { key: 'newest builds' }, h('h2', null, 'Newest builds'), buildsTable('Newest builds', builds, nowMs, 'Nothing has been built yet.')),
    ];
}

function projectView({ project, branches, rows }, nowMs) {
    return h('section', { key: `project ${project}` },
        h('h2', null, project),
        h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Builders of ${project}` },
            h('table', { class: 'grid' },
                h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Builder'), branches.map((branch) => h('th', { scope: 'col', key: branch }, branch)))),
                h('tbody', null, rows.map((row) => rowView(row, branches, nowMs))))));
}

function rowView({ builder, cells }, branches, nowMs) {
    return h('tr', { key: builder.name },
        h('th', { scope: 'row' },
            h('a', { href: builderPath(builder.name) }, builder.name),
            h('small', null, `pool ${builder.pool}`)),
        cells.map((build, i) => h('td', { key: branches[i] }, build ? cellView(build, nowMs) : h('span', { class: 'none' }, 'no build'))));
}

function cellView(build, nowMs) {
    const status = statusOf(build);
    const label = `build ${build.id} on ${build.branch}: ${status}`;
    const when = status === 'running' ? took(build, nowMs) : ago(build.finished_at ?? build.queued_at, nowMs);
    return h('a', { class: `cell is-${status}`, href: buildPath(build.id), title: cellTitle(build, nowMs), 'aria-label': label },
        badge(status),
        h('span', { class: 'detail' }, h('code', null, revision(build.revision) || 'tip'), ' ', when),
        bar(build, nowMs));
}

function cellTitle(build, nowMs) {
    const parts = [`build ${build.id}`, build.revision, build.author, build.reason];
    if (build.state === 'running')
        parts.push(progress(build, nowMs).text);
    else if (build.expected_s)
        parts.push(`usually takes ${duration(build.expected_s)}`);
    return parts.filter(Boolean).map((part) => (typeof part === 'string' ? part : textOf(part))).join('\n');
}
