import type { Operations } from './operation.ts'

const text = (description: string) => ({ 200: { description, content: { 'text/plain': undefined } } })
const log = { tag: 'proof', key: 'none' } as const
const PATH = {
  '*': 'Index in groups of three digits, all but the last with an x in front; `.p/<width>` for a part',
}
const ERRORS = ['invalid_request', 'log_path_invalid', 'log_not_there', 'store_unavailable'] as const

export const transparencyLogOperations: Operations = {
  'GET /log/checkpoint': {
    ...log,
    id: 'logCheckpoint',
    summary: 'The newest signed checkpoint of the transparency log',
    errors: ['log_not_signed', 'store_unavailable'],
    answers: text('A C2SP checkpoint: origin, size, root, and signatures'),
    tryPath: '/log/checkpoint',
  },
  'GET /log/vkeys': {
    ...log,
    id: 'logKeys',
    summary: 'The verifier keys of the transparency log, one a line, oldest first',
    errors: ['log_not_signed', 'store_unavailable'],
    answers: text('C2SP verifier keys'),
    tryPath: '/log/vkeys',
  },
  'GET /log/tile/*': {
    ...log,
    id: 'logTile',
    summary: 'Hashes of the tree, or its entries, in the layout of C2SP tlog-tiles',
    description:
      '`/log/tile/<level>/<index>` for hashes, `/log/tile/entries/<index>` for entries. They never change.',
    errors: ERRORS,
    parameters: PATH,
    answers: {
      200: { description: 'Hashes or entries', content: { 'application/octet-stream': undefined } },
    },
  },
  'GET /log/contents/*': {
    ...log,
    id: 'logContents',
    summary: 'What the entries of a tile commit to, once it may be shown',
    description:
      'A line for each entry; `null` for a verdict whose window is open. Each line hashes to its entry.',
    errors: ERRORS,
    parameters: PATH,
    answers: { 200: { description: 'Events as JSON', content: { 'application/x-ndjson': undefined } } },
  },
  'GET /log/proof/:verdict_id': {
    ...log,
    id: 'logProof',
    summary: 'A proof file for a verdict or its outcome, checked offline with `signal verify --proof`',
    errors: ['invalid_request', 'verdict_unknown', 'log_not_there', 'log_not_signed', 'store_unavailable'],
    parameters: {
      verdict_id: 'The `verdict_id` of an answer or a row',
      of: 'The verdict itself, or its outcome',
    },
    answers: text('A C2SP tlog-proof'),
  },
}
