document.body.textContent = "The page was not built.";
