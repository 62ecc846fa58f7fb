import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { endingLines, imagesOf, SERVER_LINES } from '../servers/server-lines.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const SERVER_IMAGE =
  /(?<![\w./@-])(?:[\w.-]+\/)*(?:kurrentdb|eventstore|eventstoredb|nats|redis|valkey):\d[\w.-]*/g
const imagesIn = (file: string): string[] => [...new Set(read(file).match(SERVER_IMAGE) ?? [])]
const ALL = SERVER_LINES.map(({ image }) => image)
const manifests = readdirSync(join(ROOT, 'deploy/kubernetes'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => `deploy/kubernetes/${name}`)
const CODE = [
  'testing/servers/nats-servers.ts',
  'testing/servers/redis-servers.ts',
  'services/log/eventstoredb/real-server.contract.test.ts',
]

describe('the lines of servers that deploy/servers.yaml supports', () => {
  test.each(['docker-compose.yml', '.github/workflows/test.yml', 'docs/running.md', ...manifests, ...CODE])(
    '%s names no image of another',
    (file) => {
      expect(imagesIn(file).filter((image) => !ALL.includes(image))).toEqual([])
    },
  )

  test('docker-compose.yml starts the first store, NATS and Redis of the table', () => {
    const { services } = parse(read('docker-compose.yml')) as {
      services: Record<string, { image?: string } | undefined>
    }
    expect(services['eventstoredb']?.image).toBe(imagesOf('KurrentDB')[0])
    expect(services['nats']?.image).toBe(imagesOf('NATS')[0])
    expect(services['redis']?.image).toBe(imagesOf('Redis')[0])
  })

  test('the tests of CI run over every one', () => {
    expect(imagesIn('.github/workflows/test.yml').toSorted()).toEqual(ALL.toSorted())
  })

  test.each(SERVER_LINES)(
    'docs/running.md has the line $line of $server',
    ({ server, line, image, until }) => {
      expect(read('docs/running.md')).toContain(`| ${server} | ${line} | \`${image}\` | ${until} |`)
    },
  )

  test('a line is told of sixty days before its end, and where its successor is decided, from its end on', () => {
    const [first = expect.fail('there are no lines')] = SERVER_LINES
    const open = { ...first, leaving: undefined }
    const leaving = { ...first, leaving: { decided: first.from, successor: 'Valkey 8.1' } }
    const before = (days: number) =>
      endingLines(new Date(Date.parse(first.until) - days * 86_400_000), [open, leaving])
    expect([60, 59, 0, -1].map(before)).toEqual([[], [open], [open], [open, leaving]])
  })

  test('a line that is left goes to one that is supported for longer', () => {
    for (const { leaving, until, from } of SERVER_LINES) {
      if (leaving === undefined) continue
      const successor = SERVER_LINES.find(({ server, line }) => `${server} ${line}` === leaving.successor)
      expect(successor?.until.localeCompare(until)).toBe(1)
      expect(leaving.decided.localeCompare(from)).toBe(1)
    }
  })

  // CI alone asks the clock: a line has to go on a day on which nobody changed anything.
  test('none ends within sixty days of the day', () => {
    const today = process.env['CI'] === undefined ? new Date('2026-11-23') : new Date()
    expect(endingLines(today)).toEqual([])
  })
})
