import { defineErrors } from './error-definition.ts'

/** Refusals about sign-in, keys, sessions and programs; the endpoints of OAuth have OAuth's own codes. */
export const ACCOUNT_ERRORS = defineErrors({
  sign_in_refused: {
    status: 401,
    message: 'The e-mail address and the code do not go together, or the code has expired or been used.',
    nextStep: 'Give the code as it stands in the newest mail, within half an hour, or ask for another.',
  },
  too_many_keys: {
    status: 409,
    message: 'The account has as many keys as it may have.',
    nextStep: 'Revoke a key that is no longer used, then ask again.',
  },
  too_many_apps: {
    status: 409,
    message: 'The account lets as many programs act for it as it may.',
    nextStep:
      'End one that is no longer used on the account page or with DELETE /api/apps/:id, then try again.',
  },
  grant_refused: {
    status: 400,
    message: 'The code or the token does not hold.',
    nextStep: 'Ask the owner of the account to let the program in anew.',
  },
  session_elsewhere: {
    status: 401,
    message: 'The session of a browser is for the pages of this service and nothing else.',
    nextStep: 'Use an API key here: keys are made on the account page or with POST /api/keys.',
  },
  token_elsewhere: {
    status: 401,
    message: 'An access token is for POST /mcp and nothing else.',
    nextStep: 'Use an API key here: keys are made on the account page or with POST /api/keys.',
  },
})
