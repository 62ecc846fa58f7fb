import { expect, test } from 'vitest'
import { loadCommands } from './commands.ts'
import { findCommand } from './run-command.ts'

const COMMANDS = await loadCommands()

test('a command is found by its name of one word or two, with what stands behind it', () => {
  const found = (...words: readonly string[]) => {
    const { command, args } = findCommand(COMMANDS, words) ?? {}
    return [command?.name, args]
  }
  expect(found('replay')).toEqual(['replay', []])
  expect(found('replay', '--coin', 'BTC')).toEqual(['replay', ['--coin', 'BTC']])
  expect(found('keys', 'create', '--tier', 'pro')).toEqual(['keys create', ['--tier', 'pro']])
  expect(found('keys', 'revoke', 'create')).toEqual(['keys revoke', ['create']])
  for (const words of [[], ['keys'], ['keys', 'remove'], ['create', 'keys']]) {
    expect(findCommand(COMMANDS, words)).toBeUndefined()
  }
})
