/** A text whose UTF-8 was read with each byte as a character. */
export const fromLatin1 = (bytes: string): string =>
  /[\u0080-\u00ff]/.test(bytes) ? Buffer.from(bytes, 'latin1').toString() : bytes
