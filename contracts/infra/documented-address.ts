/** The address in examples of the documentation: a service started with its defaults. */
export const DOCUMENTED_ADDRESS = 'http://127.0.0.1:8402'

/**
 * A text of the documentation with the address under which this service is reached.
 *
 * @param publicUrl empty while it is not known
 * @example atAddress('curl http://127.0.0.1:8402/livez', 'https://signals.example.com') // 'curl https://signals…/livez'
 */
export const atAddress = (text: string, publicUrl: string): string =>
  publicUrl === '' ? text : text.replaceAll(DOCUMENTED_ADDRESS, publicUrl.replace(/\/+$/, ''))
