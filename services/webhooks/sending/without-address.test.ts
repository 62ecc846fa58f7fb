import { expect, test } from 'vitest'
import { withoutAddress } from './guarded-sender.ts'

const PATH = '/hooks/T0KEN-12345678/in?key=S3CRET%2Fabcdef&v=1'

test.each([
  ['Cannot POST /hooks/T0KEN-12345678/in?key=S3CRET%2Fabcdef&v=1!', 'Cannot POST …!'],
  ['no T0KEN-12345678, no S3CRET/abcdef, no S3CRET%2Fabcdef', 'no …, no …, no …'],
  ['/hooks/T0KEN-12345678/in?key=S3CRET%2Fabcdef&amp;v=1', '/hooks/…/in?key=…&amp;v=1'],
  ['cut off within T0KEN-123', 'cut off within …'],
  ['hooks in v=1 stay as they are', 'hooks in v=1 stay as they are'],
  ['', ''],
])('of %j is kept %j', (text, kept) => {
  expect(withoutAddress(text, PATH)).toBe(kept)
})

test('an address that is not percent-encoded as it should be is looked for as it is', () => {
  expect(withoutAddress('no /a/%zz-secret', '/a/%zz-secret')).toBe('no …')
})
