import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OutcomeLabelled } from '../../contracts/events/event-catalogue.ts'
import type { NewEvent } from '../../contracts/infra/event.ts'
import { nextId, openMadeUpLog } from './testing/made-up-log.fixture.ts'

/** Debian's golang-go and golang-golang-x-mod-dev. */
const GOPATH = '/usr/share/gocode'
const hasGo =
  existsSync(join(GOPATH, 'src/golang.org/x/mod/sumdb/tlog')) && spawnSync('go', ['version']).status === 0

test.skipIf(!hasGo)(
  'a proof holds for the note and tree packages of Go, and a wrong one does not',
  async () => {
    const log = await openMadeUpLog()
    const folder = mkdtempSync(join(tmpdir(), 'go-'))
    try {
      const meta = { correlationId: 'test', actor: 'test' }
      const events = Array.from({ length: 250 }, (_, n): NewEvent => {
        const { type, schema } = OutcomeLabelled
        return { id: nextId(), type, schema, data: { n, text: 'ä"\\' }, meta }
      })
      await log.append('outcome-SIM.BTC.1m', events)
      expect(await log.sign()).toBeUndefined()
      const [vkey = ''] = log.views.vkeys().split('\n')
      const check = (text: string) => {
        const file = join(folder, 'one.tlog-proof')
        writeFileSync(file, text)
        const environment = {
          ...process.env,
          GO111MODULE: 'off',
          GOPATH,
          GOCACHE: join(folder, 'cache'),
          HOME: folder,
        }
        const program = join(import.meta.dirname, 'testing/check_proof.go')
        return spawnSync('go', ['run', program, file, vkey], { env: environment, encoding: 'utf8' }).stdout
      }
      for await (const event of log.store.readAll({ filter: { types: ['OutcomeLabelled'] }, limit: 1 })) {
        const proof = await log.views.proof(event, new AbortController().signal)
        expect(check(proof)).toBe('entry 1 of 252 is signed by signals.example.com/log\n')
        expect(check(proof.replace('\nindex 1\n', '\nindex 2\n'))).toMatch(
          /^refused: invalid transparency proof/,
        )
        expect(check(proof.replace('\n252\n', '\n253\n'))).toMatch(/^refused: .*invalid signature/)
      }
    } finally {
      log.remove()
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
