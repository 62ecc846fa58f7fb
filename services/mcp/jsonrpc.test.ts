import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonFault } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { RpcFault, readMessage } from './jsonrpc.ts'

test('reads a message as it was sent', () => {
  const message = {
    jsonrpc: '2.0',
    id: 'é',
    method: 'tools/call',
    params: { name: 'a', arguments: { n: [1, null] } },
  }
  expect(readMessage(Buffer.from(JSON.stringify(message)))).toEqual(message)
})

test('takes nesting up to the limit and no deeper', () => {
  const nested = (depth: number): Buffer =>
    Buffer.from(`{"jsonrpc":"2.0","params":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`)
  expect(readMessage(nested(LIMITS.jsonDepth))).not.toBeInstanceOf(RpcFault)
  expect(readMessage(nested(LIMITS.jsonDepth + 1))).toMatchObject({ error: { code: -32600 } })
})

test('makes a message or an error of any bytes, and never throws', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 64 }),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (bytes) => {
        const read = readMessage(Buffer.from(bytes))
        if (read instanceof RpcFault) expect([-32700, -32600]).toContain(read.error.code)
        else expect(typeof read).toBe('object')
      },
    ),
  )
})

test('lets through only what can be kept and sent on', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (params) => {
      const message = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'm', params })))
      if (!(message instanceof RpcFault)) expect(jsonFault(message, LIMITS.jsonDepth)).toBeUndefined()
    }),
  )
})
