import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonFault } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { readMessage } from './mcp-messages.ts'

test('reads a message as it was sent', () => {
  const message = {
    jsonrpc: '2.0',
    id: 'é',
    method: 'tools/call',
    params: { name: 'a', arguments: { n: [1, null] } },
  }
  expect(readMessage(Buffer.from(JSON.stringify(message))).message).toEqual(message)
})

test('sends back the id of a message of another protocol, where it has one', () => {
  const { id, error } = readMessage(Buffer.from('{"jsonrpc":"1.0","id":7,"method":"ping"}')) as {
    id: unknown
    error: unknown
  }
  expect([id, error]).toMatchObject([7, { code: -32600 }])
})

test('takes nesting up to the limit and no deeper', () => {
  const nested = (depth: number): Buffer =>
    Buffer.from(`{"jsonrpc":"2.0","params":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`)
  expect(readMessage(nested(LIMITS.jsonDepth)).error).toBeUndefined()
  expect(readMessage(nested(LIMITS.jsonDepth + 1)).error?.code).toBe(-32600)
})

test('makes a message or an error of any bytes, and never throws', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 64 }),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (bytes) => {
        const { message, error } = readMessage(Buffer.from(bytes))
        expect(message === undefined).toBe(error !== undefined)
        if (error !== undefined) expect([-32700, -32600]).toContain(error.code)
      },
    ),
  )
})

test('lets through only what can be kept and sent on', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (params) => {
      const { message } = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'm', params })))
      if (message !== undefined) expect(jsonFault(message, LIMITS.jsonDepth)).toBeUndefined()
    }),
  )
})
