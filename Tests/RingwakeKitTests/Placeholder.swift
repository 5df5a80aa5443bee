// Its first file comes with the module.
