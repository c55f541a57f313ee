// What the page of one build looks like. Pure.

import { count, duration, revision, secondsBetween } from '../format.js';
import { h } from '../h.js';
import { ago, badge, bar, builderLink, button, buildLink, isOver, loaded, sign, statusOf, table, took } from '../pieces.js';
import { builderPath, stepPath } from '../route.js';

// The step to show: the one asked for; else the running one, the first that went wrong, or the last with a log.
export function chosenStep(build, number) {
    const steps = build.steps ?? [];
    if (number !== null)
        return steps.find((step) => step.number === number) ?? null;
    return (
        steps.find((step) => step.state === 'running') ??
        steps.find((step) => step.result === 'failure' || step.result === 'exception' || step.result === 'cancelled') ??
        steps.findLast((step) => step.log) ??
        null
    );
}

// The build with one step put in its place.
export function withStep(build, step) {
    const steps = build.steps ?? [];
    const known = steps.some((old) => old.number === step.number);
    return {
        ...build,
        steps: known ? steps.map((old) => (old.number === step.number ? { ...old, ...step } : old)) : [...steps, step].sort((a, b) => a.number - b.number),
    };
}

export function buildView(state, route, log, actions, nowMs) {
    return loaded(state, (build) => {
        const step = state.old ?? chosenStep(build, route.step);
        return [
            heading(build, actions, nowMs),
            h('div', { class: 'build', key: 'build' },
                h('div', { class: 'side', key: 'side' }, stepList(build, step, nowMs), facts(build, nowMs)),
                h('section', { class: 'output', key: 'output' }, output(build, state, route, step, log, actions, nowMs))),
        ];
    });
}

function heading(build, actions, nowMs) {
    const status = statusOf(build);
    return h('div', { class: `heading is-${status}`, key: 'heading' },
        h('h1', null, builderLink(build.builder), ' ', h('span', { class: 'id' }, `#${build.id}`)),
        h('div', { class: 'standing', role: 'status' }, badge(status), build.reason && h('span', { class: 'reason' }, build.reason)),
        h('div', { class: 'running-for' }, build.state === 'running' ? [took(build, nowMs), bar(build, nowMs)] : null),
        h('div', { class: 'actions' },
            isOver(build) ? null : button('Cancel', actions.cancel, { kind: 'danger' }),
            button('Rebuild', actions.rebuild)));
}

function stepList(build, chosen, nowMs) {
    const steps = build.steps ?? [];
    if (steps.length === 0)
        return h('p', { class: 'empty' }, 'The steps are known once the build starts.');
    return h('nav', { 'aria-label': 'Steps' },
        h('ol', { class: 'steps' },
            steps.map((step) => {
                const status = statusOf(step);
                return h('li', { key: step.number },
                    h('a', { href: stepPath(build.id, step.number), class: `is-${status}`, 'aria-current': step.number === chosen?.number ? 'true' : null },
                        sign(status),
                        h('span', { class: 'name' }, step.name),
                        h('span', { class: 'status' }, status),
                        h('span', { class: 'number' }, step.started_at ? took(step, nowMs) : '')));
            })));
}

function facts(build, nowMs) {
    const rows = [
        ['Branch', build.branch && h('a', { href: builderPath(build.builder, build.branch) }, build.branch)],
        ['Revision', h('code', { title: build.revision }, revision(build.revision) || 'the tip when it starts')],
        ['Project', build.project],
        ['Author', build.author],
        ['Slave', build.slave],
        ['Pool', build.pool && `${build.pool}, priority ${build.priority}`],
        ['Waits for', (build.waits_for ?? []).length > 0 && build.waits_for.map((id, i) => [i ? ', ' : '', buildLink({ id })])],
        ['Replaced by', build.stands_for && buildLink({ id: build.stands_for })],
        ['Asked for', ago(build.queued_at, nowMs)],
        ['Waited', duration(secondsBetween(build.queued_at, build.started_at))],
        ['Took', build.finished_at && build.started_at && took(build, nowMs)],
        ['Expected', build.expected_s && duration(build.expected_s)],
    ].filter(([, value]) => value);
    return [
        h('dl', { key: 'facts' }, rows.map(([name, value]) => [h('dt', null, name), h('dd', null, value)])),
        (build.attempts ?? []).length > 1 && attempts(build),
    ];
}

function attempts(build) {
    const rows = build.attempts.map((attempt) =>
        h('tr', { key: attempt.attempt },
            h('th', { scope: 'row' }, attempt.attempt === build.attempt ? `${attempt.attempt} (this)` : h('a', { href: stepPath(build.id, 1, { attempt: attempt.attempt }) }, attempt.attempt)),
            h('td', null, attempt.slave ?? '–'),
            h('td', null, attempt.result ? badge(attempt.result) : '–', attempt.reason && h('small', null, attempt.reason))));
    return h('section', { key: 'attempts' }, h('h2', null, count(build.attempts.length, 'attempt')), table('Attempts', [['Attempt'], ['Slave'], ['Result']], rows, ''));
}

// Whether the exit code is worth a word of its own: most reasons name it.
function saysExit(step) {
    return Boolean(step.exit_code) && !step.reason?.includes(`exit code ${step.exit_code}`);
}

function output(build, state, route, step, log, actions, nowMs) {
    if (!step)
        return h('p', { class: 'empty' }, noStep(build, route));
    const status = statusOf(step);
    return [
        h('div', { class: 'output-head', key: 'head' },
            h('h2', null, `${step.number}. ${step.name}`, state.old && h('small', null, ` in attempt ${route.attempt}`)),
            badge(status),
            saysExit(step) && h('span', null, `exit code ${step.exit_code}`),
            step.reason && h('span', { class: 'reason' }, step.reason),
            h('span', { class: 'number' }, step.started_at ? took(step, nowMs) : ''),
            log && h('span', { class: 'size' }, log.size),
            log && h('span', { class: 'actions' },
                log.growing && followButton(log, actions),
                h('a', { class: 'button', href: log.rawUrl, target: '_blank' }, 'Raw log'))),
        log ? h('div', { class: 'log-holder', key: log.key }, log.body) : h('p', { class: 'empty', key: 'none' }, isOver(step) ? 'This step wrote nothing.' : step.state === 'running' ? 'Waiting for output…' : 'This step has not started.'),
    ];
}

function followButton(log, actions) {
    return h('button', { type: 'button', 'aria-pressed': String(log.following), onclick: () => actions.follow(!log.following) }, 'Follow');
}

function noStep(build, route) {
    if (route.step !== null)
        return `This build has no step ${route.step} (yet).`;
    return isOver(build) ? 'No step of this build wrote a log.' : 'The log is shown here once a step runs.';
}
