// Builds dist/, which is committed: rondod embeds it, so that nobody who builds rondod needs Node.
import { build } from 'esbuild';
import { copyFileSync, mkdirSync } from 'node:fs';

mkdirSync('dist', { recursive: true });
await build({
  entryPoints: { console: 'src/main.tsx' },
  outdir: 'dist',
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
});
for (const file of ['index.html', 'icon.svg']) copyFileSync(`src/${file}`, `dist/${file}`);
