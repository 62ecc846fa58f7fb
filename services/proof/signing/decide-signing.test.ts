import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { decideSigning, type SigningState } from './decide-signing.ts'

const root = (size: number): Buffer => hash('sha256', String(size), 'buffer')
const checkpoint = (size: number) => ({ origin: 'log', size, root: root(size) })
const row = (size: number) => ({ origin: 'log', size, root: root(size).toString('base64'), note: '' })
const state = (change: Partial<SigningState>): SigningState => ({
  keys: { origin: 'log', vkeys: ['key'], leaves: null, published: ['key'] },
  newest: row(5) as never,
  kept: checkpoint(5),
  size: 5,
  root,
  vkeysFor: () => ['key'],
  origin: undefined,
  firstOrigin: 'log',
  isShared: true,
  ...change,
})

test('a size that was signed is not signed again', () => {
  expect(decideSigning(state({}))).toEqual({ kind: 'wait' })
  expect(decideSigning(state({ size: 6 }))).toEqual({ kind: 'sign', checkpoint: checkpoint(6) })
})

test('a process whose tree lacks what another one has signed waits, also where it has seen that checkpoint', () => {
  const ahead = { newest: row(9) as never, kept: checkpoint(9) }
  expect(decideSigning(state({ ...ahead, size: 7 }))).toEqual({ kind: 'wait' })
})

test('keys are published anew where one was added, and where one was taken out', () => {
  const published = (...vkeys: string[]) => ({ keys: { origin: 'log', vkeys, leaves: null } as never })
  const anew = (...vkeys: string[]) => ({
    kind: 'publish',
    keys: { origin: 'log', vkeys, reason: 'keys changed', leaves: null },
  })
  expect(decideSigning(state({ vkeysFor: () => ['key', 'more'] }))).toEqual(anew('key', 'more'))
  expect(decideSigning(state(published('key', 'less')))).toEqual(anew('key'))
  expect(decideSigning(state(published('other')))).toMatchObject({ kind: 'refuse' })
})
