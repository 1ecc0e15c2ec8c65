import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// The page is built into the Python package, which serves it. `npm run dev` asks a server that runs beside it.
export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../src/playhead/web/page",
    emptyOutDir: true,
    assetsDir: "assets",
    target: "es2022",
    reportCompressedSize: true,
    // What every page uses is one file: fewer requests before anything is seen.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: "lib", test: /src\/lib\/|node_modules\/(svelte|esm-env|clsx)/ }] } },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8765" } },
});
