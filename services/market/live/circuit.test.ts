import { expect, test } from 'vitest'
import { createCircuit } from './circuit.ts'

function aCircuit() {
  const clock = { now: 1_000 }
  const circuit = createCircuit({ failuresInARow: 3, pauseMs: 100, pauseMaxMs: 350, now: () => clock.now })
  const fail = (times: number): void => {
    for (let time = 0; time < times; time++) circuit.failed()
  }
  return { clock, circuit, fail }
}

test('opens after failures in a row only', () => {
  const { circuit, fail } = aCircuit()
  fail(2)
  circuit.succeeded()
  fail(2)
  expect([circuit.state(), circuit.enter()]).toEqual(['closed', true])
  fail(1)
  expect([circuit.state(), circuit.enter()]).toEqual(['open', false])
})

test('after the pause one request tries; the others wait for its answer', () => {
  const { clock, circuit, fail } = aCircuit()
  fail(3)
  clock.now += 100
  expect(circuit.state()).toBe('half-open')
  expect([circuit.enter(), circuit.enter()]).toEqual([true, false])
  circuit.succeeded()
  expect([circuit.state(), circuit.enter(), circuit.enter()]).toEqual(['closed', true, true])
})

test('the pause doubles with every try that fails, up to a bound, and begins anew after a success', () => {
  const { clock, circuit, fail } = aCircuit()
  fail(3)
  const pauses: number[] = []
  for (let round = 0; round < 4; round++) {
    clock.now = circuit.opensAt()
    expect(circuit.enter()).toBe(true)
    circuit.failed()
    pauses.push(circuit.opensAt() - clock.now)
  }
  expect(pauses).toEqual([200, 350, 350, 350])
  clock.now = circuit.opensAt()
  circuit.enter()
  circuit.succeeded()
  fail(3)
  expect(circuit.opensAt() - clock.now).toBe(100)
})

test('requests that were under way when it opened do not make the pause longer', () => {
  const { clock, circuit, fail } = aCircuit()
  fail(3)
  const opensAt = circuit.opensAt()
  clock.now += 50
  fail(5)
  expect(circuit.opensAt()).toBe(opensAt)
})

test('a clock that was set back keeps it shut for the longest pause at most', () => {
  const { clock, circuit, fail } = aCircuit()
  clock.now = 1_000_000
  fail(3)
  clock.now = 0
  expect(circuit.enter()).toBe(false)
  clock.now = 350
  expect(circuit.enter()).toBe(true)
})

test('a wait that the venue asked for lasts, whatever comes of requests under way', () => {
  const { clock, circuit, fail } = aCircuit()
  circuit.leaveAlone(5_000)
  circuit.succeeded()
  fail(1)
  clock.now += 4_999
  expect([circuit.state(), circuit.enter(), circuit.opensAt()]).toEqual(['open', false, 6_000])
  clock.now += 1
  expect([circuit.enter(), circuit.enter()]).toEqual([true, false])
  circuit.succeeded()
  expect([circuit.state(), circuit.enter()]).toEqual(['closed', true])
})
