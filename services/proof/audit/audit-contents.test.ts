import { expect, test } from 'vitest'
import { OutcomeLabelled, VerdictRecorded } from '../../../contracts/event-catalogue.ts'
import { type EventOf, newEvent } from '../../../contracts/event-definition.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import { entryOf } from '../tree/entry.ts'
import { AuditedContents } from './audit-contents.ts'
import { createFindings } from './finding.ts'
import { Outcomes } from './labelled.ts'

const meta = { correlationId: 'test', actor: 'engine' }
const verdict = aVerdict()
const { exchange, coin, timeframe, verdictId, barClose, validUntil } = verdict
const { modelVersion, call, probability, barrier, forecast, recordedLate } = verdict
const end = {
  race: 'up',
  entryPrice: 100,
  exitPrice: 101.2,
  decidedAt: validUntil,
  highest: 0.012,
  lowest: 0,
  closePrice: 101,
} as const
const copied = { modelVersion, call, probability, barrier, forecast, recordedLate, barsMissed: 0 }
const outcome = { exchange, coin, timeframe, verdictId, barClose, validUntil, ...copied, ...end }

test('an audit holds of an outcome only the fields that its race is compared by', () => {
  const findings = createFindings()
  const context = { origin: 'log', seen: undefined, now: validUntil }
  const contents = new AuditedContents(findings, context)
  const events = [
    newEvent(VerdictRecorded, { id: verdictId, data: verdict, meta }),
    newEvent(OutcomeLabelled, { id: verdictId, data: outcome, meta }),
  ]
  for (const [index, event] of events.entries())
    contents.take(index, entryOf(event), event as unknown as EventOf<typeof VerdictRecorded>)
  expect(findings.counts()).not.toHaveProperty('wrong_outcome')
  expect(contents.end().series).toMatchObject([{ covered: barClose }])
  const outcomes = contents.end().series[0]?.outcomes ?? expect.fail('there is no series')
  expect(Array.from({ length: outcomes.length }, (_, place) => outcomes.at(place))).toStrictEqual([
    { index: 1, barClose, validUntil, barrier, hasForecast: true, ...end },
  ])
})

test('an outcome takes 80 bytes outside of the heap, and is what it was', () => {
  const outcomes = new Outcomes()
  const before = process.memoryUsage().arrayBuffers
  for (let index = 0; index < 32_000; index++) outcomes.add(index, { ...outcome, exitPrice: null })
  expect((process.memoryUsage().arrayBuffers - before) / 32_000).toBeLessThan(100)
  expect(outcomes.at(31_999)).toMatchObject({ index: 31_999, race: 'up', exitPrice: null, lowest: 0 })
  expect(outcomes.at(0)).toMatchObject({ index: 0, barClose, hasForecast: true })
})

test('an outcome with a text in the place of a number is a wrong one, though the number would be right', () => {
  const findings = createFindings()
  const contents = new AuditedContents(findings, { origin: 'log', seen: undefined, now: validUntil })
  const disguised = { ...outcome, entryPrice: '100' }
  const events = [
    newEvent(VerdictRecorded, { id: verdictId, data: verdict, meta }),
    { ...newEvent(OutcomeLabelled, { id: verdictId, data: outcome, meta }), data: disguised },
  ]
  for (const [index, event] of events.entries())
    contents.take(index, entryOf(event), event as unknown as EventOf<typeof VerdictRecorded>)
  expect(findings.counts()).toHaveProperty('wrong_outcome', 1)
})
