// What the page of one build looks like. Pure.

import { h } from '../h.js';
import { ago, badge, bar, builderLink, button, isOver, loaded, slaveLink, statusOf, took } from '../pieces.js';
import { stepPath } from '../route.js';
import { attempts, facts, setOf, stepList, stepStatus, whyOf } from './build_side.js';
import { pointsTable } from './points_view.js';

// The step to show: the one asked for; else the running one, the first that went wrong, or the last with a log.
export function chosenStep(build, number) {
    const steps = build.steps ?? [];
    if (number !== null)
        return steps.find((step) => step.number === number) ?? null;
    return (
        steps.find((step) => step.state === 'running') ??
        steps.find((step) => step.result === 'failure' || step.result === 'exception' || step.result === 'cancelled') ??
        steps.findLast((step) => step.log || step.stderr) ??
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

// The earlier attempt that the address asks for, {attempt, steps}, once it has been read; else null.
export function oldOf({ old }, route) {
    return old && old.attempt === route.attempt ? old : null;
}

// Which of a step's logs to show, 'log' or 'stderr': the one asked for, else the one that is there.
export function streamOf(step, route) {
    if (route.stream && step.number === route.step)
        return route.stream;
    return step.stderr && !step.log ? 'stderr' : 'log';
}

// log: how the open log is shown (see build.js), or null.
export function buildView(state, route, log, actions, nowMs) {
    return loaded(state, (build) => {
        const old = oldOf(state, route);
        const shown = old ? { ...build, steps: old.steps } : build;
        const step = chosenStep(shown, route.step);
        const extra = state.extra ?? {};
        return [
            heading(build, actions, nowMs),
            trouble(build, extra.slave, nowMs),
            h('div', { class: 'build', key: 'build' },
                h('div', { class: 'side', key: 'side' },
                    stepList(shown, step, old?.attempt ?? null, nowMs),
                    attempts(build),
                    facts(build, extra, nowMs),
                    setOf(build, extra.set)),
                h('section', { class: 'output', key: 'output' },
                    step ? output({ build, old, route, step, log, points: extra.points ?? [] }, actions, nowMs) : h('p', { class: 'empty' }, noStep(build, route)),
                    otherPoints(shown, step, extra.points ?? []))),
        ];
    });
}

function heading(build, actions, nowMs) {
    const status = statusOf(build);
    return h('div', { class: `heading is-${status}`, key: 'heading' },
        h('h1', null, builderLink(build.builder), ' ', h('span', { class: 'id' }, `#${build.id}`)),
        h('div', { class: 'standing', role: 'status' }, badge(status), build.note && h('span', { class: 'reason' }, build.note)),
        h('div', { class: 'running-for' }, build.state === 'running' ? [took(build, nowMs), bar(build, nowMs)] : null),
        h('div', { class: 'actions' },
            isOver(build) ? null : button('Cancel', actions.cancel, { kind: 'danger' }),
            button('Rebuild', actions.rebuild)));
}

// What a build is held up by that is no step's doing.
function trouble(build, slave, nowMs) {
    const lost = (build.attempts ?? []).findLast((attempt) => attempt.result === 'lost');
    if (build.state === 'detached')
        return h('p', { class: 'warning', key: 'trouble', role: 'status' },
            'Its slave ', slaveLink(build.slave), ' is out of touch',
            slave?.last_seen_at && [', last seen ', ago(slave.last_seen_at, nowMs)],
            slave?.reason && ` (${slave.reason})`,
            '. The build goes on when the slave returns; if that takes longer than the builder’s lost_after (10 min unless configured otherwise), it runs again elsewhere.');
    if (build.state === 'queued' && lost)
        return h('p', { class: 'warning', key: 'trouble', role: 'status' }, `Attempt ${lost.attempt} was lost and the build waits to run again: ${lost.reason ?? 'its slave did not return'}.`);
    return null;
}

function output(shown, actions, nowMs) {
    const { build, old, step, log, points } = shown;
    const mine = points.filter((point) => point.step === step.number);
    return [
        outputHead(shown, actions, nowMs),
        mine.length > 0 && h('div', { class: 'points', key: 'points' }, pointsTable(mine, `Benchmark points of ${step.name}`)),
        log ? h('div', { class: 'log-holder', key: log.key }, log.body) : h('p', { class: 'empty', key: 'none' }, noLog(build, step, old)),
    ];
}

function outputHead({ build, old, route, step, log }, actions, nowMs) {
    const { look, word } = stepStatus(build, step);
    return h('div', { class: 'output-head', key: 'head' },
        h('h2', null, `${step.number}. ${step.name}`, old && h('small', null, ` in attempt ${old.attempt}`)),
        badge(look, word),
        whyOf(step) && h('span', { class: 'reason' }, whyOf(step)),
        h('span', { class: 'number' }, step.started_at ? took(step, nowMs) : ''),
        log && h('span', { class: 'size' }, log.size),
        streamTabs(build, old, route, step),
        log && h('span', { class: 'actions' },
            log.growing && followButton(log, actions),
            h('a', { class: 'button', href: log.rawUrl, target: '_blank' }, 'Raw log')));
}

// A step with a log of its own for standard error has two to choose from.
function streamTabs(build, old, route, step) {
    const chosen = streamOf(step, route);
    if (!step.stderr && chosen === 'log')
        return null;
    const tab = (stream, label) =>
        h('a', { href: stepPath(build.id, step.number, { attempt: old?.attempt, stream: stream === 'log' ? null : stream }), 'aria-current': chosen === stream ? 'page' : null }, label);
    return h('span', { class: 'choices' }, (step.log || !step.stderr) && tab('log', 'Output'), tab('stderr', 'Standard error'));
}

// Points of the steps that are not shown.
function otherPoints(build, shown, points) {
    return (build.steps ?? [])
        .filter((step) => step.number !== shown?.number)
        .map((step) => [step, points.filter((point) => point.step === step.number)])
        .filter(([, its]) => its.length > 0)
        .map(([step, its]) => h('div', { class: 'points', key: `points ${step.number}` }, h('h2', null, `Benchmark points of ${step.name}`), pointsTable(its, `Benchmark points of ${step.name}`)));
}

function followButton(log, actions) {
    return h('button', { type: 'button', 'aria-pressed': String(log.following), onclick: () => actions.follow(!log.following) }, 'Follow');
}

function noLog(build, step, old) {
    if (isOver(step))
        return 'This step wrote nothing.';
    if (old || isOver(build))
        return 'This step has not run.';
    return step.state === 'running' ? 'Waiting for output…' : 'This step has not started.';
}

function noStep(build, route) {
    if (route.step !== null)
        return route.attempt && route.attempt !== build.attempt ? `Nothing is known of step ${route.step} in attempt ${route.attempt}.` : `This build has no step ${route.step} (yet).`;
    return isOver(build) ? 'No step of this build wrote a log.' : 'The log is shown here once a step runs.';
}
