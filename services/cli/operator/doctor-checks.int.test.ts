import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BASE } from '../../../contracts/chain.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { anEvent } from '../../log/event-store.contract.ts'
import { describeChain, describeClock, describeWebhooks } from './doctor-checks.ts'

test('a clock that is behind the newest event of the log is weak', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'doctor-clock-'))
  try {
    const store = await openEmbeddedStore({ directory, now: () => 100_000 })
    await store.append('s-1', [anEvent({})], { expected: 'no-stream' })
    await store.close()
    expect(describeClock(directory, 95_000)).toMatch(/^not behind/)
    expect(describeClock(directory, 94_000)).toMatchObject({
      isDegraded: true,
      detail: expect.stringMatching(/^6 s behind/),
    })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

test('a node of another chain, and one that does not answer, are faults', async () => {
  let result: unknown = '0x2105'
  const node = createServer((_, response) => void response.end(JSON.stringify({ result })))
  node.listen(0, '127.0.0.1')
  await once(node, 'listening')
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}/key`
  try {
    expect(await describeChain(url, BASE)).toMatch(/is a node of chain 8453$/)
    result = '0x1'
    await expect(describeChain(url, BASE)).rejects.toMatchObject({ code: 'config_invalid' })
  } finally {
    node.close()
  }
  await expect(describeChain('http://127.0.0.1:9/key', BASE)).rejects.toThrow(/^127\.0\.0\.1:9: (?!.*key)/)
})

test('webhooks that fail are counted over all pages', async () => {
  const pages = async function* () {
    yield {
      webhooks: [
        { state: 'active', failures_in_a_row: 0 },
        { state: 'active', failures_in_a_row: 3 },
      ],
    }
    yield { webhooks: [{ state: 'disabled', failures_in_a_row: 0 }] }
  }
  expect(await describeWebhooks({ pages } as never)).toEqual({
    isDegraded: true,
    detail: '2 failing: `signal webhooks list` has them',
  })
})
