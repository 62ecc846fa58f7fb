import type { Operations } from './operation.ts'

const text = (description: string) => ({ 200: { description, content: { 'text/plain': undefined } } })
const log = { tag: 'proof', key: 'none' } as const
const PATH = {
  '*': 'Index in groups of three digits, all but the last with an x in front; `.p/<width>` for a part',
}
const ERRORS = ['invalid_request', 'log_path_invalid', 'log_not_there', 'store_unavailable'] as const

export const transparencyLogOperations: Operations = {
  'GET /sealed': {
    tag: 'verdicts',
    key: 'none',
    id: 'sealedDays',
    summary: 'Days that never change any more, as files: verdicts with their outcomes',
    description: 'A day without verdicts is listed without a file.',
    errors: ['invalid_request', 'store_unavailable'],
    parameters: {
      exchange: 'One exchange',
      after: 'Days behind this one: `next` of an answer',
      limit: 'Days at most',
    },
    tryPath: '/sealed',
  },
  'GET /sealed/:exchange/:date/:file': {
    tag: 'verdicts',
    key: 'none',
    id: 'sealedFile',
    summary: 'A sealed file, or its manifest; read by parts with Range',
    description: '`/sealed/exchange=HL/date=2026-01-31/verdicts.parquet`: the path that `GET /sealed` names.',
    errors: ['invalid_request', 'day_not_sealed', 'range_invalid', 'store_unavailable'],
    parameters: { exchange: 'As `exchange=HL`', date: 'As `date=2026-01-31`', file: 'Which file' },
    headers: { Range: 'One range of bytes' },
    answers: {
      200: {
        description: 'The file',
        content: {
          'application/vnd.apache.parquet': undefined,
          'application/gzip': undefined,
          'application/json': undefined,
        },
      },
      206: {
        description: 'A part of it',
        content: { 'application/vnd.apache.parquet': undefined, 'application/gzip': undefined },
      },
    },
  },
  'GET /log/checkpoint': {
    ...log,
    id: 'logCheckpoint',
    summary: 'The newest signed checkpoint of the transparency log',
    errors: ['log_not_signed', 'store_unavailable'],
    answers: text('A C2SP checkpoint: origin, size, root, and signatures'),
    tryPath: '/log/checkpoint',
  },
  'GET /log/cosigned': {
    ...log,
    id: 'logCosigned',
    summary: 'The newest checkpoint that enough witnesses have cosigned',
    errors: ['log_not_there', 'store_unavailable'],
    answers: text('A C2SP checkpoint with cosignatures'),
  },
  'GET /log/witnesses': {
    ...log,
    id: 'logWitnesses',
    summary: 'How many verdicts witnesses have cosigned before their window closed',
    errors: ['store_unavailable'],
    tryPath: '/log/witnesses',
  },
  'GET /log/anchors': {
    ...log,
    id: 'logAnchors',
    summary: 'Checkpoints that stand on the chain or in OpenTimestamps, and how many verdicts in time',
    errors: ['invalid_request', 'store_unavailable'],
    parameters: { after: 'Checkpoints of larger trees: `next` of an answer' },
    tryPath: '/log/anchors',
  },
  'GET /log/anchors/:file': {
    ...log,
    id: 'logAnchor',
    summary: 'The text of an anchored checkpoint (`<size>.checkpoint`), or its timestamp (`<size>.ots`)',
    errors: ['invalid_request', 'log_not_there', 'store_unavailable'],
    parameters: { file: 'Size of the tree, and which of both' },
    answers: {
      200: {
        description: 'Text, or a file of OpenTimestamps',
        content: { 'text/plain': undefined, 'application/vnd.opentimestamps.v1': undefined },
      },
    },
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
