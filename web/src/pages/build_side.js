// The column beside a build's log: its steps, what is known of it, its set and its attempts. Pure.

import { count, duration, revision, secondsBetween } from '../format.js';
import { h } from '../h.js';
import { ago, badge, buildLink, isOver, sign, slaveLink, statusOf, took } from '../pieces.js';
import { builderPath, stepPath } from '../route.js';

const SET_SHOWN = 30;

// How a step stands: {look: the state whose colour it has, word}.
export function stepStatus(build, step) {
    const status = statusOf(step);
    // A failure that counts would have made the build one.
    if (status === 'failure' && build.result === 'warnings')
        return { look: 'warnings', word: 'failure (warns only)' };
    return { look: status, word: status };
}

// Why a step ended as it did, or ''.
export function whyOf(step) {
    const exit = step.exit_code > 0 ? `exit code ${step.exit_code}` : '';
    if (!step.reason)
        return exit;
    return exit && !step.reason.includes(exit) ? `${step.reason}, ${exit}` : step.reason;
}

// attempt: the earlier one whose steps these are, or null.
export function stepList(build, chosen, attempt, nowMs) {
    const steps = build.steps ?? [];
    if (steps.length === 0)
        return h('p', { class: 'empty' }, isOver(build) ? 'No step has run.' : 'The steps are known once the build starts.');
    return h('nav', { 'aria-label': 'Steps' },
        h('ol', { class: 'steps' }, steps.map((step) => h('li', { key: step.number }, stepItem(build, step, step.number === chosen?.number, attempt, nowMs)))));
}

function stepItem(build, step, isChosen, attempt, nowMs) {
    const { look, word } = stepStatus(build, step);
    return h('a', { href: stepPath(build.id, step.number, { attempt }), class: `is-${look}`, 'aria-current': isChosen ? 'true' : null },
        sign(look),
        h('span', { class: 'name' }, step.name),
        h('span', { class: 'number' }, step.started_at ? took(step, nowMs) : ''),
        h('span', { class: 'status' }, word),
        step.result !== 'success' && whyOf(step) && h('span', { class: 'why' }, whyOf(step)));
}

export function facts(build, { change = null } = {}, nowMs) {
    const rows = [
        ['Branch', build.branch && h('a', { href: builderPath(build.builder, build.branch) }, build.branch)],
        ['Revision', h('code', { title: build.revision }, revision(build.revision) || 'the tip when it starts')],
        ['Change', change?.comment && h('span', { class: 'comment' }, change.comment)],
        ['Author', build.author ?? change?.author],
        ['Project', build.project],
        ['Reason', build.reason],
        ['Slave', build.slave && slaveLink(build.slave)],
        ['Pool', build.pool && `${build.pool}, priority ${build.priority}`],
        [build.state === 'waiting' ? 'Waits for' : 'Came after', (build.waits_for ?? []).length > 0 && build.waits_for.map((id, i) => [i ? ', ' : '', buildLink({ id })])],
        ['Replaced by', build.stands_for && buildLink({ id: build.stands_for })],
        ['Rebuild of', build.rebuild_of && buildLink({ id: build.rebuild_of })],
        ['Asked for', ago(build.queued_at, nowMs)],
        ['Started', build.started_at && [ago(build.started_at, nowMs), `, waited ${duration(secondsBetween(build.queued_at, build.started_at))}`]],
        ['Finished', build.finished_at && ago(build.finished_at, nowMs)],
        ['Took', build.finished_at && build.started_at && took(build, nowMs)],
        ['Expected', build.expected_s && duration(build.expected_s)],
    ].filter(([, value]) => value);
    return h('dl', { key: 'facts' }, rows.map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
}

// The other builds of the same set: what comes after this one is among them.
export function setOf(build, set) {
    const others = (set?.builds ?? []).filter((other) => other.id !== build.id).sort((a, b) => a.id - b.id);
    if (others.length === 0)
        return null;
    const left = others.length - SET_SHOWN;
    return h('section', { key: 'set' },
        h('h2', null, 'Asked for together'),
        h('ul', { class: 'lines' },
            others.slice(0, SET_SHOWN).map((other) =>
                h('li', { key: other.id }, buildLink(other, other.builder, ` #${other.id}`), ' ', badge(statusOf(other)))),
            left > 0 && h('li', { key: 'more' }, `and ${left} more`)));
}

// Of a build that ran more than once, or was lost.
export function attempts(build) {
    const all = build.attempts ?? [];
    if (all.length < 2 && !all.some((attempt) => attempt.result === 'lost'))
        return null;
    return h('section', { key: 'attempts' },
        h('h2', null, count(all.length, 'attempt')),
        h('ul', { class: 'lines' }, all.map((attempt) => attemptItem(build, attempt))));
}

function attemptItem(build, attempt) {
    const { attempt: n, slave, result, reason } = attempt;
    const seconds = secondsBetween(attempt.started_at, attempt.finished_at);
    const where = [slave && `on ${slave}`, seconds !== null && duration(seconds)].filter(Boolean).join(', ');
    return h('li', { key: n },
        h('a', { href: stepPath(build.id, 1, { attempt: n }) }, `attempt ${n}`), n === build.attempt ? ', the newest ' : ' ',
        badge(result ?? build.state),
        where && h('small', null, where),
        reason && h('small', null, reason));
}
