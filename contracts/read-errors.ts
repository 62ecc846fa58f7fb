import { defineErrors } from './error-definition.ts'

/** Refusals of reads that wait, or go on. */
export const READ_ERRORS = defineErrors({
  too_many_streams: {
    status: 503,
    message: 'This process holds no further stream or waiting request at the moment.',
    nextStep: 'Try again in a while, or page through the replay with `after`.',
  },
  read_model_behind: {
    status: 503,
    message: 'What was written up to `wait_for` cannot be read yet.',
    nextStep: 'Send the same request again shortly, or leave `wait_for` out and read what there is.',
  },
  position_unknown: {
    status: 409,
    message: 'The log does not reach the position in `wait_for`.',
    nextStep: 'Leave `wait_for` out, or send a position that an answer of this service gave.',
  },
})
