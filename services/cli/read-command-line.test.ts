import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { loadCommands } from './commands.ts'
import { helpOf } from './help.ts'
import { defineCommand, settingFlag, switchFlag } from './kit/command.ts'
import { shellWords } from './kit/shell-words.fixture.ts'
import { findCommand, readCommandLine } from './run-command.ts'

const COMMANDS = await loadCommands()

const command = defineCommand({
  name: 'try',
  summary: 'Is there for tests.',
  notes: [],
  operands: ['thing'],
  flags: {
    count: {
      schema: z.string().regex(/^\d+$/, { error: 'must be a number' }).transform(Number).default(7),
      help: 'How many.',
      example: '3',
      alias: 'counts',
    },
    token: settingFlag('OPERATOR_TOKEN'),
    loud: switchFlag('Loudly.'),
    needed: { schema: z.string(), help: 'Must be there.', example: 'yes' },
  },
  examples: [],
  run: async () => 0,
})

const read = (args: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
  readCommandLine(command, args, environment)

function refusal(args: readonly string[], environment: NodeJS.ProcessEnv = {}): string {
  try {
    read(args, environment)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'config_invalid') return error.message
    throw error
  }
  throw new Error('expected a refusal')
}

describe('flags', () => {
  test('are read by their schema, with what was written beside it', () => {
    expect(read(['it', '--counts', '3', '--needed', 'a', '--loud'])).toEqual({
      flags: { count: 3, token: undefined, loud: true, needed: 'a' },
      texts: { count: '3', needed: 'a', loud: 'true' },
      operands: ['it'],
    })
    expect(read(['--needed=a', 'it']).flags).toMatchObject({ count: 7, loud: false })
  })

  test('win over their variable; an empty variable is none', () => {
    const [first, second] = ['0123456789abcdef', 'fedcba9876543210']
    const args = ['it', '--needed', 'a']
    expect(read(args, { OPERATOR_TOKEN: first }).flags.token).toBe(first)
    expect(read([...args, '--token', second], { OPERATOR_TOKEN: first }).flags.token).toBe(second)
    expect(read(args, { OPERATOR_TOKEN: '' }).flags.token).toBeUndefined()
  })

  test.each([
    [['it'], '--needed is missing. For example: --needed yes'],
    [['it', '--needed', 'a', '--count', 'x'], '--count is "x": must be a number. For example: 3'],
    [['it', '--needed', 'a', '--counts', 'x'], '--counts is "x"'],
    [
      ['it', '--needed', 'a', '--count', 'x'.repeat(300)],
      `--count is "${'x'.repeat(200)}…": must be a number`,
    ],
    [['it', '--needed', 'a', '--count', '1', '--counts', '2'], '--count and --counts are the same flag'],
    [['it', '--needed', 'a', '--count', '1', '--count', '2'], '--count is given twice; give it once'],
    [['it', '--needed', 'a', '--loud', '--loud'], '--loud is given twice'],
    [['it', '--needed', 'a', '--loud=very'], '--loud takes no value'],
    [['it', '--needed'], '--needed has no value. For example: --needed yes'],
    [['it', '--hush'], 'There is no flag --hush. See: npm run -s signal -- help '],
    [['it', '--coun', '3'], 'There is no flag --coun. Did you mean --count?'],
    [['it', '-l'], 'There is no flag -l. See: '],
    [['--needed', 'a'], 'try takes <thing>, not ""'],
    [['it', 'that', '--needed', 'a'], 'try takes <thing>, not "it that"'],
  ])('%j are refused with what is wrong and what there is', (args, words) => {
    expect(refusal(args)).toContain(words)
  })

  test('that are secret are not shown', () => {
    expect(refusal(['it', '--needed', 'a', '--token', 'hunter2'])).toBe(
      refusal(['it', '--needed', 'a', '--token', 'hunter3']),
    )
  })
})

describe('every command', () => {
  test('has a name of its own, and no flag or alias twice', () => {
    const names = COMMANDS.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const { name, flags } of COMMANDS) {
      const all = Object.entries(flags).flatMap(([flag, { alias }]) => [flag, ...(alias ? [alias] : [])])
      expect(new Set(all).size, name).toBe(all.length)
    }
  })

  test.each(COMMANDS.map((one) => [one.name, one] as const))('%s takes its own examples', (_name, one) => {
    expect(one.examples.length).toBeGreaterThan(0)
    for (const example of one.examples) {
      const [program, ...words] = shellWords(example.replace(/ >.*$/, ''))
      const found = findCommand(COMMANDS, words)
      expect([program, found?.command.name]).toEqual(['signal', one.name])
      expect(() => readCommandLine(one, found?.args ?? [], {})).not.toThrow()
    }
    const help = helpOf(one)
    for (const flag of Object.keys(one.flags)) expect(help).toContain(`  --${flag}`)
  })

  test.each(COMMANDS.map((one) => [one.name, one] as const))(
    '%s takes the examples of its flags',
    (_name, one) => {
      for (const [flag, { example, schema, isSwitch }] of Object.entries(one.flags)) {
        // Some examples say how to make the value instead.
        if (isSwitch === true || example.startsWith('the output of')) continue
        expect(schema.safeParse(example).success, `--${flag} ${example}`).toBe(true)
      }
    },
  )
})
