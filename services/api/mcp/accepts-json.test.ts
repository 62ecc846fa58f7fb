import { expect, test } from 'vitest'
import { acceptsJson } from './read-message.ts'

test.each([
  [undefined, true],
  ['*/*', true],
  ['application/json', true],
  ['APPLICATION/JSON', true],
  ['application/json, text/event-stream', true],
  ['text/event-stream, application/json;q=0.1', true],
  ['text/html, application/*;q=0.5', true],
  ['text/html,*/*;q=0.8', true],
  ['', false],
  ['text/event-stream', false],
  ['text/html', false],
  ['application/json;q=0', false],
  ['application/json;q=0, */*', false],
  ['application/json; q=0.000', false],
  ['*/*;q=0', false],
  ['application/jsonp', false],
])('Accept: %s', (accept, isAccepted) => {
  expect(acceptsJson(accept)).toBe(isAccepted)
})
