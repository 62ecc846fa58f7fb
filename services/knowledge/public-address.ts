/** The address that the pages name: that of a service as it is started without settings. */
export const DOCUMENTED_ADDRESS = 'http://127.0.0.1:8402'

/**
 * A text of the documentation with the address that callers reach this service at.
 *
 * @param publicUrl without a slash at the end; empty while it is not known, and the text then stays as it is
 * @example atPublicUrl('curl http://127.0.0.1:8402/readyz', 'https://signals.example') // 'curl https://signals.example/readyz'
 */
export const atPublicUrl = (text: string, publicUrl: string): string =>
  publicUrl === '' ? text : text.replaceAll(DOCUMENTED_ADDRESS, publicUrl)
