import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { explainedCommands } from './help.ts'

const { scripts } = JSON.parse(
  readFileSync(join(resolve(import.meta.dirname, '..'), 'package.json'), 'utf8'),
) as {
  readonly scripts: Readonly<Record<string, string>>
}

test('CONTRIBUTING.md explains every command of package.json in one line, and no other', () => {
  expect([...explainedCommands().keys()].toSorted()).toEqual(Object.keys(scripts).toSorted())
})

test('npm lists the command that explains the others first', () => {
  expect(Object.keys(scripts)[0]).toBe('help')
})
