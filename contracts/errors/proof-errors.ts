import { defineErrors } from './error-definition.ts'

/** Refusals of the transparency log and of the programs that check it. */
export const PROOF_ERRORS = defineErrors({
  log_path_invalid: {
    status: 400,
    message: 'This names nothing of the transparency log.',
    nextStep:
      'Read docs/proof.md: /log/checkpoint, /log/vkeys, /log/tile/<level>/<index>[.p/<width>], /log/tile/entries/<index> and /log/contents/<index> are what is there.',
  },
  log_not_there: {
    status: 404,
    message: 'The transparency log does not reach that far.',
    nextStep: 'Ask for tiles within the size that /log/checkpoint names.',
  },
  log_not_signed: {
    status: 503,
    message: 'There is no signed checkpoint that holds this yet.',
    nextStep: 'Ask again in ten seconds. Where it stays so, the operator finds the reason in /readyz.',
  },
  day_not_sealed: {
    status: 404,
    message: 'There is no sealed file of this day.',
    nextStep:
      'Ask GET /sealed which days there are; one is sealed when all windows of its verdicts have closed.',
  },
  range_invalid: {
    status: 416,
    message: 'The range is outside of the file.',
    nextStep: 'Ask for bytes within the length that Content-Range names.',
  },
  proof_invalid: {
    status: 400,
    exitCode: 17,
    message: 'The proof does not hold.',
    nextStep:
      'Do not rely on it. Fetch it anew, and compare the vkey with the one that the operator published.',
  },
  audit_failed: {
    status: 409,
    exitCode: 18,
    message: 'The log does not hold what it promises.',
    nextStep: 'Keep the findings and the state file: they are the evidence.',
  },
})
