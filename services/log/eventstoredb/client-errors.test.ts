import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { appendError, readError } from './client-errors.ts'

const failure = (message: string, properties: object = {}): Error =>
  Object.assign(new Error(message), properties)

test.each([
  [
    'a refused connection, as a raw gRPC error',
    failure('14 UNAVAILABLE: No connection established. Last error: connect ECONNREFUSED', { code: 14 }),
    'store_unavailable',
  ],
  [
    'a channel that was closed first',
    failure('14 UNAVAILABLE: Channel closed before call started', { code: 14, type: 'unavailable' }),
    'store_unavailable',
  ],
  [
    'busy, of unknown type',
    failure('2 UNKNOWN: Server Is Busy', { code: 2, type: 'unknown' }),
    'store_unavailable',
  ],
  [
    'too busy',
    failure('14 UNAVAILABLE: Server Is Too Busy', { code: 14, type: 'unavailable' }),
    'store_unavailable',
  ],
  [
    'not ready',
    failure('14 UNAVAILABLE: Server Is Not Ready', { code: 14, type: 'unavailable' }),
    'store_unavailable',
  ],
  ['another leader', failure('leader', { code: 5, type: 'not-leader' }), 'store_unavailable'],
  ['no access', failure('denied', { code: 16, type: 'access-denied' }), 'store_denied'],
  ['no access, as a raw gRPC error', failure('denied', { code: 7 }), 'store_denied'],
  [
    'a certificate of nobody known',
    failure('14 UNAVAILABLE: No connection established. Last error: self-signed certificate', { code: 14 }),
    'store_denied',
  ],
  ['another kind of server', failure('12 UNIMPLEMENTED', { code: 12, type: 'unknown' }), 'store_unavailable'],
  [
    'a connection that broke',
    failure('14 UNAVAILABLE: Connection dropped', { code: 14, type: 'unavailable' }),
    'append_unknown',
  ],
  [
    'a timeout on the server',
    failure('2 UNKNOWN: Operation timed out', { code: 2, type: 'unknown' }),
    'append_unknown',
  ],
  ['an aborted call', failure('10 ABORTED', { code: 10, type: 'timeout' }), 'append_unknown'],
  [
    'a passed deadline',
    failure('4 DEADLINE_EXCEEDED', { code: 4, type: 'deadline-exceeded' }),
    'append_unknown',
  ],
  ['a cancelled call', failure('1 CANCELLED', { code: 1, type: 'cancelled' }), 'append_unknown'],
  ['anything else', 'not even an error', 'append_unknown'],
  ['too large', failure('too large', { type: 'maximum-append-size-exceeded' }), 'payload_too_large'],
  ['a tombstoned stream', failure('deleted', { code: 9, type: 'stream-deleted' }), 'stream_erased'],
])('an append that fails by %s', (_name, error, code) => {
  const failed = appendError(error, 's-1')
  expect(failed.code).toBe(code)
  expect(failed.message).toContain('append to s-1: ')
})

test('a read fails with what the server said, or with what the service itself found', () => {
  expect(readError(failure('14 UNAVAILABLE'), 'reading s-1')).toMatchObject({
    code: 'store_unavailable',
    message: 'reading s-1: the server answered "14 UNAVAILABLE"',
  })
  const own = new ServiceError('event_unreadable')
  expect(readError(own, 'reading s-1')).toBe(own)
})

test.each([
  ['16 UNAUTHENTICATED: Unauthenticated', 'user and password'],
  ['7 PERMISSION_DENIED: Access Denied', 'no right'],
  ['14 UNAVAILABLE: Last error: unable to verify the first certificate', 'tlsCaFile'],
  ['14 UNAVAILABLE: Last error: certificate has expired', 'has expired'],
  ["14 UNAVAILABLE: Host: db. is not in the cert's altnames: DNS:other", 'not for the host'],
  ['14 UNAVAILABLE: Last error: 00A:error:0A00010B:SSL routines:wrong version number', 'tls=false'],
])('a read that a closed door ends with "%s" says what is wrong with it', (message, advice) => {
  const failed = readError(failure(message), 'reading s-1')
  expect(failed.code).toBe('store_denied')
  expect(failed.message).toContain(advice)
})
